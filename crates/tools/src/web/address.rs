//! Which addresses are not of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of forbidden address this is; `None` for a public one.
pub fn forbidden(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => forbidden_v4(address),
        IpAddr::V6(address) => forbidden_v6(address),
    }
}

/// Follows the IANA registry of special-purpose addresses; of its blocks none is public.
fn forbidden_v4(address: Ipv4Addr) -> Option<&'static str> {
    let kind = match address.octets() {
        [0, ..] => "unspecified",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "private",
        [100, 64..=127, ..] => "shared (carrier-grade NAT)",
        [127, ..] => "loopback",
        // The machine's own overseer in the cloud of one large vendor.
        [169, 254, 169, 254] | [168, 63, 129, 16] => "cloud metadata",
        [169, 254, ..] => "link-local",
        [192, 0, 0, _] => "special-purpose",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "documentation",
        [192, 88, 99, _] => "6to4 relay",
        [198, 18..=19, ..] => "benchmarking",
        [224..=239, ..] => "multicast",
        [255, 255, 255, 255] => "broadcast",
        [240..=255, ..] => "reserved",
        [..] => return None,
    };
    Some(kind)
}

/// Only global unicast is public, without the blocks in it that lead to other addresses.
fn forbidden_v6(address: Ipv6Addr) -> Option<&'static str> {
    let kind = match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => "unspecified",
        [0, 0, 0, 0, 0, 0, 0, 1] => "loopback",
        [0, 0, 0, 0, 0, 0xffff, ..] => "IPv4-mapped",
        [0, 0, 0, 0, 0xffff, 0, ..] => "IPv4-translated",
        [0, 0, 0, 0, 0, 0, ..] => "IPv4-compatible",
        [0x64, 0xff9b, ..] => "NAT64",
        [0x100, 0, 0, 0, ..] => "discard-only",
        [0x2001, 0, ..] => "Teredo",
        [0x2001, 0x1..=0x1ff, ..] => "special-purpose",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => "documentation",
        [0x2002, ..] => "6to4",
        [0xfc00..=0xfdff, ..] => "unique local",
        [0xfe80..=0xfebf, ..] => "link-local",
        [0xfec0..=0xfeff, ..] => "site-local",
        [0xff00..=0xffff, ..] => "multicast",
        [0x2000..=0x3fff, ..] => return None,
        [..] => "reserved",
    };
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_pass() {
        let table = [
            ("0.0.0.0", "unspecified"),
            ("0.1.2.3", "unspecified"),
            ("10.0.0.0", "private"),
            ("10.255.255.255", "private"),
            ("100.64.0.0", "shared (carrier-grade NAT)"),
            ("100.100.100.200", "shared (carrier-grade NAT)"),
            ("100.127.255.255", "shared (carrier-grade NAT)"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.254", "loopback"),
            ("168.63.129.16", "cloud metadata"),
            ("169.254.0.1", "link-local"),
            ("169.254.169.254", "cloud metadata"),
            ("169.254.170.2", "link-local"),
            ("169.254.255.255", "link-local"),
            ("172.16.0.0", "private"),
            ("172.31.255.255", "private"),
            ("192.0.0.0", "special-purpose"),
            ("192.0.0.192", "special-purpose"),
            ("192.0.2.1", "documentation"),
            ("192.88.99.1", "6to4 relay"),
            ("192.168.0.0", "private"),
            ("192.168.255.255", "private"),
            ("198.18.0.1", "benchmarking"),
            ("198.19.255.255", "benchmarking"),
            ("198.51.100.7", "documentation"),
            ("203.0.113.9", "documentation"),
            ("224.0.0.1", "multicast"),
            ("239.255.255.255", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.0.0.1", "reserved"),
            ("255.255.255.255", "broadcast"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::2", "IPv4-compatible"),
            ("::127.0.0.1", "IPv4-compatible"),
            ("::8.8.8.8", "IPv4-compatible"),
            ("::ffff:127.0.0.1", "IPv4-mapped"),
            ("::ffff:10.0.0.1", "IPv4-mapped"),
            ("::ffff:8.8.8.8", "IPv4-mapped"),
            ("::ffff:0:127.0.0.1", "IPv4-translated"),
            ("64:ff9b::127.0.0.1", "NAT64"),
            ("64:ff9b::8.8.8.8", "NAT64"),
            ("64:ff9b:1::10.0.0.1", "NAT64"),
            ("100::1", "discard-only"),
            ("100:0:0:1::1", "reserved"),
            ("200::1", "reserved"),
            ("1fff:ffff::1", "reserved"),
            ("2001::1", "Teredo"),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
            ("2001:2::1", "special-purpose"),
            ("2001:10::1", "special-purpose"),
            ("2001:20::1", "special-purpose"),
            ("2001:1ff:ffff::1", "special-purpose"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::1", "6to4"),
            ("2002:808:808::1", "6to4"),
            ("3fff::1", "documentation"),
            ("3fff:fff::1", "documentation"),
            ("4000::1", "reserved"),
            ("5f00::1", "reserved"),
            ("fbff::1", "reserved"),
            ("fc00::1", "unique local"),
            ("fd00:ec2::254", "unique local"),
            ("fe80::1", "link-local"),
            ("febf::1", "link-local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
            ("ffff::1", "multicast"),
        ];
        for (address, kind) in table {
            let parsed = address.parse().expect(address);
            assert_eq!(forbidden(parsed), Some(kind), "{address}");
        }
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2000::1",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2001:db9::1",
            "2003::1",
            "2606:4700:4700::1111",
            "3ffe::1",
            "3fff:1000::1",
        ] {
            assert_eq!(forbidden(public.parse().expect(public)), None, "{public}");
        }
    }
}
