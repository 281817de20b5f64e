//! Pictures that fit, that are made to fit, and that never will.

use image::{ImageEncoder as _, Rgb, Rgba, RgbaImage};
use proptest::prelude::*;

use super::*;

/// Pixels that no format can pack well, always the same.
fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 1_u32;
    RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Rgb([(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8])
    })
}

fn as_png(image: impl Into<DynamicImage>) -> Vec<u8> {
    png(&image.into()).expect("a PNG")
}

fn unpacked(picture: &ScaledPicture) -> DynamicImage {
    let format = match picture.media_type {
        "image/png" => ImageFormat::Png,
        _ => ImageFormat::Jpeg,
    };
    let image = image::load_from_memory_with_format(&picture.bytes, format).expect("a picture");
    assert_eq!(
        (image.width(), image.height()),
        (picture.width, picture.height)
    );
    image
}

#[test]
fn a_picture_that_fits_is_left_as_it_is() {
    for bytes in [
        as_png(noise(60, 40)),
        as_png(RgbImage::new(2_000, 10)),
        // Not ours to judge: small, and perhaps fine for some service.
        b"\x89PNG\r\n\x1a\n".to_vec(),
        b"\0\0\0\x18ftypheic".to_vec(),
        Vec::new(),
    ] {
        assert_eq!(scaled(&bytes, BASE64_BYTES_MAX), Ok(None));
    }
}

#[test]
fn a_screenshot_of_four_and_a_half_megabytes_becomes_smaller() {
    let bytes = as_png(noise(1_300, 1_200));
    assert!(bytes.len() > 4_600_000, "{}", bytes.len());
    let picture = scaled(&bytes, BASE64_BYTES_MAX)
        .expect("fine")
        .expect("smaller");
    assert!(base64_bytes(picture.bytes.len()) <= BASE64_BYTES_MAX);
    assert_eq!(
        (picture.width, picture.height),
        (1_300, 1_200),
        "every pixel is there"
    );
    assert_eq!(picture.media_type, "image/jpeg");
    unpacked(&picture);
}

#[test]
fn too_many_pixels_of_a_side_become_fewer_and_letters_stay_sharp() {
    let wide = RgbImage::from_fn(6_000, 300, |x, _| Rgb([(x / 3_000 * 255) as u8; 3]));
    let picture = scaled(&as_png(wide), BASE64_BYTES_MAX)
        .expect("fine")
        .expect("smaller");
    assert_eq!((picture.width, picture.height), (2_000, 100));
    assert_eq!(picture.media_type, "image/png");
    let image = unpacked(&picture).to_rgb8();
    assert_eq!(image.get_pixel(10, 50).0, [0; 3]);
    assert_eq!(image.get_pixel(1_990, 50).0, [255; 3]);
}

#[test]
fn a_photo_is_turned_as_its_camera_says() {
    let photo = RgbImage::from_fn(2_400, 120, |x, _| Rgb([(x / 1_200 * 255) as u8; 3]));
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 90);
    // One entry of EXIF: orientation, a quarter turn to the right.
    let turned = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    encoder
        .set_exif_metadata(turned.to_vec())
        .expect("metadata");
    photo.write_with_encoder(encoder).expect("a JPEG");
    let picture = scaled(&bytes, BASE64_BYTES_MAX)
        .expect("fine")
        .expect("smaller");
    assert_eq!((picture.width, picture.height), (100, 2_000));
    let image = unpacked(&picture).to_luma8();
    assert!(image.get_pixel(50, 10).0[0] < 50, "what was left is on top");
    assert!(image.get_pixel(50, 1_990).0[0] > 200);
}

#[test]
fn less_room_means_a_smaller_picture_and_what_is_transparent_becomes_white() {
    let noise = noise(900, 900);
    let image = RgbaImage::from_fn(900, 900, |x, y| {
        let [red, green, blue] = noise.get_pixel(x, y).0;
        match x < 450 {
            true => Rgba([0, 0, 0, 0]),
            false => Rgba([red, green, blue, 255]),
        }
    });
    // What one of twenty gets of a message's room.
    let room = (12 << 20) / 20;
    let picture = scaled(&as_png(image), room)
        .expect("fine")
        .expect("smaller");
    assert!(base64_bytes(picture.bytes.len()) <= room);
    assert_eq!(picture.media_type, "image/jpeg");
    let shown = unpacked(&picture).to_luma8();
    assert!(shown.get_pixel(20, 20).0[0] > 240);
}

/// A file of a few bytes that says it has billions of pixels is not unpacked to find out.
#[test]
fn a_bomb_is_refused_by_what_it_says_of_itself() {
    let mut bytes = as_png(RgbImage::new(1, 1));
    let side = 60_000_u32;
    bytes[16..20].copy_from_slice(&side.to_be_bytes());
    bytes[20..24].copy_from_slice(&side.to_be_bytes());
    let sum = crc(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&sum.to_be_bytes());
    let refused = scaled(&bytes, BASE64_BYTES_MAX).expect_err("too much");
    let (width, height) = (side, side);
    assert_eq!(refused, PictureError::TooManyPixels { width, height });
}

#[test]
fn what_is_large_and_cannot_be_unpacked_is_refused() {
    let mut broken = as_png(noise(1_300, 1_200));
    broken.truncate(4_000_000);
    let other = vec![7; 4_000_000];
    for bytes in [broken, other] {
        let refused = scaled(&bytes, BASE64_BYTES_MAX);
        assert_eq!(refused, Err(PictureError::NotScalable));
    }
}

/// A small picture in each format, so that all readers are met.
fn of_every_kind() -> Vec<Vec<u8>> {
    let image = DynamicImage::ImageRgb8(noise(9, 7));
    let formats = [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Gif,
        ImageFormat::WebP,
    ];
    let packed = |format| {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).expect("a picture");
        bytes.into_inner()
    };
    formats.map(packed).into()
}

#[test]
fn every_kind_is_unpacked() {
    for bytes in of_every_kind() {
        let picture = scaled(&bytes, 1_000).map(|picture| picture.is_some());
        let fits = base64_bytes(bytes.len()) <= 1_000;
        assert_eq!(picture, Ok(!fits));
        // There is no picture of so few bytes, but that is known only at the end.
        assert_eq!(scaled(&bytes, 8), Err(PictureError::NotScalable));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_picture_never_panics(
        kind in 0..4_usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        kept in any::<prop::sample::Index>(),
    ) {
        let mut bytes = of_every_kind().swap_remove(kind);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(kept.index(2 * bytes.len()).max(8));
        for room in [8, 700] {
            if let Ok(Some(picture)) = scaled(&bytes, room) {
                prop_assert!(base64_bytes(picture.bytes.len()) <= room);
            }
        }
    }
}

/// The checksum of a PNG's chunk.
fn crc(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            let low = sum & 1;
            sum >>= 1;
            if low == 1 {
                sum ^= 0xEDB8_8320;
            }
        }
    }
    !sum
}
