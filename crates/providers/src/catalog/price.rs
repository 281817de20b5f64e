//! What a model costs.

use serde::Deserialize;

use crate::ModelUsage;

/// Micro-dollars for a million tokens: one dollar is 1,000,000.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    /// Input that was read from the cache; as any other when absent.
    #[serde(default)]
    pub cached: Option<u64>,
    /// Input that was written to the cache; as any other when absent.
    #[serde(default)]
    pub cache_write: Option<u64>,
    /// What longer requests cost.
    #[serde(default)]
    pub tiers: Vec<PriceTier>,
}

/// The price of a whole request whose input is longer than `above` tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTier {
    pub above: u64,
    pub input: u64,
    pub output: u64,
    #[serde(default)]
    pub cached: Option<u64>,
    #[serde(default)]
    pub cache_write: Option<u64>,
}

impl Price {
    /// What one request costs in micro-dollars, rounded up.
    pub fn of(&self, usage: ModelUsage) -> u64 {
        let reached = |tier: &&PriceTier| usage.input_tokens > tier.above;
        let tier = self
            .tiers
            .iter()
            .filter(reached)
            .max_by_key(|tier| tier.above);
        let (input, output, read, write) = match tier {
            Some(tier) => (tier.input, tier.output, tier.cached, tier.cache_write),
            None => (self.input, self.output, self.cached, self.cache_write),
        };
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let plain = usage.input_tokens - cached - written;
        let parts = [
            (plain, input),
            (cached, read.unwrap_or(input)),
            (written, write.unwrap_or(input)),
            (usage.output_tokens, output),
        ];
        let total: u128 = parts
            .into_iter()
            .map(|(tokens, price)| u128::from(tokens) * u128::from(price))
            .sum();
        u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input_tokens: u64, output_tokens: u64) -> ModelUsage {
        ModelUsage {
            input_tokens,
            output_tokens,
            ..ModelUsage::default()
        }
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let price = Price {
            input: 3_000_000,
            output: 15_000_000,
            cached: Some(300_000),
            cache_write: Some(3_750_000),
            ..Price::default()
        };
        let usage = ModelUsage {
            cached_tokens: 600_000,
            cache_write_tokens: 100_000,
            reasoning_tokens: 50_000,
            ..usage(1_000_000, 100_000)
        };
        // 0.3 M plain, 0.6 M cached, 0.1 M written, 0.1 M out; thoughts are part of what is written.
        assert_eq!(price.of(usage), 900_000 + 180_000 + 375_000 + 1_500_000);
        let plain = Price {
            cached: None,
            cache_write: None,
            ..price
        };
        assert_eq!(plain.of(usage), 3_000_000 + 1_500_000);
    }

    #[test]
    fn a_long_request_costs_its_tier_from_the_first_token_on() {
        let tier = |above, input| PriceTier {
            above,
            input,
            output: 10 * input,
            cached: Some(input / 10),
            ..PriceTier::default()
        };
        let price = Price {
            input: 1_000_000,
            output: 10_000_000,
            cached: Some(100_000),
            // In any order.
            tiers: vec![tier(400_000, 4_000_000), tier(200_000, 2_000_000)],
            ..Price::default()
        };
        for (input, expected) in [
            (100_000, 100_000 + 10_000),
            (200_000, 200_000 + 10_000),
            (200_001, 400_002 + 20_000),
            (400_000, 800_000 + 20_000),
            (500_000, 2_000_000 + 40_000),
        ] {
            assert_eq!(price.of(usage(input, 1_000)), expected, "{input}");
        }
        // What comes from the cache makes a request no shorter.
        let cached = ModelUsage {
            cached_tokens: 300_000,
            ..usage(300_000, 0)
        };
        assert_eq!(price.of(cached), 60_000);
    }

    #[test]
    fn a_price_is_rounded_up_and_never_overflows() {
        let price = Price {
            input: 1,
            output: u64::MAX,
            ..Price::default()
        };
        assert_eq!(price.of(usage(0, 0)), 0);
        assert_eq!(price.of(usage(1, 0)), 1);
        assert_eq!(price.of(usage(1_000_001, 0)), 2);
        assert_eq!(price.of(usage(0, u64::MAX)), u64::MAX);
        // A provider that counts more cached tokens than it read is not believed.
        let odd = ModelUsage {
            cached_tokens: 50,
            cache_write_tokens: 50,
            ..usage(10, 0)
        };
        assert_eq!(price.of(odd), 1);
    }
}
