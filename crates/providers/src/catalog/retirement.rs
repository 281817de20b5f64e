//! The end of a model's life, as its provider announced it.

use jiff::civil::Date;
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};

use super::{Model, ProviderInfo};

/// From this long before its end on, who uses a model is told.
const NOTICE_DAYS: i64 = 60;

/// A day, in Greenwich.
pub type Day = Date;

/// Where a model is in its life on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    Current,
    /// Its end is near.
    Ending,
    /// Its provider has announced an end that has passed.
    Retired,
}

/// The day (UTC) of a time in milliseconds since 1970.
pub fn day(unix_ms: i64) -> Day {
    let time = Timestamp::from_millisecond(unix_ms).unwrap_or_default();
    Offset::UTC.to_datetime(time).date()
}

impl Model {
    pub fn lifetime(&self, today: Day) -> Lifetime {
        // A service may tell the time of day as well.
        let date = self
            .retires
            .as_deref()
            .and_then(|retires| retires.get(..10));
        let Some(end) = date.and_then(|date| date.parse::<Date>().ok()) else {
            return Lifetime::Current;
        };
        let notice = today.checked_add(NOTICE_DAYS.days()).unwrap_or(today);
        match end {
            end if end <= today => Lifetime::Retired,
            end if end <= notice => Lifetime::Ending,
            _ => Lifetime::Current,
        }
    }

    /// For people, from some weeks before its end on: `retires on 2026-11-30; use other-model`.
    pub fn retirement_words(&self, today: Day) -> Option<String> {
        let verb = match self.lifetime(today) {
            Lifetime::Current => return None,
            Lifetime::Ending => "retires",
            Lifetime::Retired => "retired",
        };
        let date = self
            .retires
            .as_deref()
            .and_then(|retires| retires.get(..10))?;
        let mut words = format!("{verb} on {date}");
        if let Some(successor) = &self.successor {
            words.push_str(&format!("; use {successor}"));
        }
        Some(words)
    }

    /// Its name with what is to be known of its end.
    pub fn shown_name(&self, today: Day) -> String {
        match self.retirement_words(today) {
            Some(words) => format!("{} ({words})", self.name),
            None => self.name.clone(),
        }
    }
}

impl ProviderInfo {
    /// The model that is used when none is named: the first that its own list has, else the first
    /// that may be there; one that has not been retired, and one that can call tools.
    pub fn default_model(&self, today: Day) -> Option<&Model> {
        let rank = |model: &&Model| {
            let offered = match model.offered {
                Some(true) => 0,
                None => 1,
                Some(false) => 2,
            };
            let retired = model.lifetime(today) == Lifetime::Retired;
            (retired, offered, model.tools == Some(false))
        };
        // The first of equals: `min_by_key` keeps it.
        self.models.iter().min_by_key(rank)
    }

    /// The model for small work beside this one; itself, where there is no other or it is gone.
    pub fn small_model_beside<'a>(&'a self, model: &'a str, today: Day) -> &'a str {
        let gone = |id: &str| {
            let known = self.models.iter().find(|each| each.id == id);
            known.is_some_and(|known| {
                known.offered == Some(false) || known.lifetime(today) == Lifetime::Retired
            })
        };
        match self.small_model.as_deref() {
            Some(small) if !gone(small) => small,
            Some(_) | None => model,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn model(id: &str, retires: Option<&str>) -> Model {
        Model {
            id: id.to_owned(),
            name: id.to_uppercase(),
            retires: retires.map(str::to_owned),
            successor: Some("next".to_owned()),
            ..Model::default()
        }
    }

    fn provider(models: Vec<Model>, small: &str) -> ProviderInfo {
        ProviderInfo {
            id: "p".to_owned(),
            name: "P".to_owned(),
            models,
            small_model: Some(small.to_owned()),
            ..ProviderInfo::default()
        }
    }

    #[test]
    fn a_model_is_told_of_before_and_after_its_end() {
        let old = model("old", Some("2026-11-30"));
        let ending = "OLD (retires on 2026-11-30; use next)";
        let retired = "OLD (retired on 2026-11-30; use next)";
        for (today, lifetime, name) in [
            (date(2026, 9, 30), Lifetime::Current, "OLD"),
            (date(2026, 10, 1), Lifetime::Ending, ending),
            (date(2026, 11, 29), Lifetime::Ending, ending),
            (date(2026, 11, 30), Lifetime::Retired, retired),
        ] {
            assert_eq!(old.lifetime(today), lifetime, "{today}");
            assert_eq!(old.shown_name(today), name, "{today}");
        }
    }

    #[test]
    fn a_day_is_that_of_greenwich() {
        assert_eq!(day(20_787 * 86_400_000), date(2026, 11, 30));
        assert_eq!(day(20_787 * 86_400_000 - 1), date(2026, 11, 29));
    }

    #[test]
    fn what_a_service_says_of_an_end_is_read_or_left_alone() {
        let today = date(2026, 11, 30);
        for (told, expected) in [
            (None, Lifetime::Current),
            (Some("2026-11-30T08:00:00Z"), Lifetime::Retired),
            (Some("soon"), Lifetime::Current),
            (Some("2026-99-99"), Lifetime::Current),
        ] {
            assert_eq!(model("m", told).lifetime(today), expected, "{told:?}");
        }
    }

    #[test]
    fn what_is_gone_is_neither_a_default_nor_used_for_small_work() {
        let today = date(2026, 11, 30);
        let gone = model("gone", Some("2026-11-30"));
        let here = model("here", None);
        let both = provider(vec![gone.clone(), here], "gone");
        let chosen =
            |provider: &ProviderInfo| provider.default_model(today).map(|each| each.id.clone());
        assert_eq!(chosen(&both).as_deref(), Some("here"));
        assert_eq!(both.small_model_beside("large", today), "large");
        // Better one that may be gone than none.
        assert_eq!(chosen(&provider(vec![gone], "x")).as_deref(), Some("gone"));
        let small = provider(vec![model("here", None)], "here");
        assert_eq!(small.small_model_beside("large", today), "here");
        // A small model that no catalog lists may still be there.
        assert_eq!(
            provider(Vec::new(), "s").small_model_beside("large", today),
            "s"
        );
    }
}
