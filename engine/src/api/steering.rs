//! How a reply is made to arrive: rounds and plants, asked for by header or, since gateways drop headers, by a suffix of
//! the model's name (`puppet-glm+rounds-3+plant-done-missing`, in any order). A header wins over a suffix.
//!
//! In: the model's name, the headers. Out: the puppet, the rounds and the plant, or a refusal.

use hyper::HeaderMap;

use super::errors::{Refusal, shown};
use crate::{
    generate::Rounds,
    model::Puppet,
    plant::Switch,
    plant::{self, PlantSpec},
};

/// Header that asks for rounds.
const ROUNDS_HEADER: &str = "x-tfproxy-rounds";
/// Header that asks for a plant or a decoy.
const PLANT_HEADER: &str = "x-tfproxy-plant";

/// Rounds and plant of a request.
#[derive(Debug, Clone, Copy)]
pub struct Steering {
    /// How many tokens each round commits.
    pub rounds: Rounds,
    /// The fault or oddity that was asked for.
    pub plant: Option<&'static PlantSpec>,
}

/// A spelling, and the key or header it was written in.
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    param: &'static str,
    value: &'a str,
}

/// A model's name taken apart.
#[derive(Debug, Default)]
struct Named<'a> {
    rounds: Option<Asked<'a>>,
    plant: Option<Asked<'a>>,
}

// === impl Steering ===

impl Steering {
    /// Reads the model's name and the headers.
    pub fn read(model: &str, headers: &HeaderMap, plants: Switch) -> Result<(Puppet, Self), Refusal> {
        let (base, suffixes) = model.split_once('+').map_or((model, None), |(base, rest)| (base, Some(rest)));
        let puppet = Puppet::named(base).ok_or_else(|| Refusal::model_not_found(model))?;
        let named = suffixes.map_or(Ok(Named::default()), |suffixes| Named::read(model, suffixes))?;
        let rounds = header(headers, ROUNDS_HEADER)?.or(named.rounds);
        let plant = header(headers, PLANT_HEADER)?.or(named.plant);
        let steering = Self {
            rounds: rounds.map_or(Ok(Rounds::default()), read_rounds)?,
            plant: plant.map(|asked| read_plant(asked, plants)).transpose()?,
        };
        Ok((puppet, steering))
    }
}

// === impl Named ===

impl<'a> Named<'a> {
    fn read(model: &str, suffixes: &'a str) -> Result<Self, Refusal> {
        let mut named = Self::default();
        for suffix in suffixes.split('+') {
            let (slot, value) = match suffix.split_once('-') {
                Some(("rounds", value)) => (&mut named.rounds, value),
                Some(("plant", value)) => (&mut named.plant, value),
                _ => return Err(Refusal::model_not_found(model)),
            };
            if slot.replace(Asked { param: "model", value }).is_some() {
                return Err(Refusal::invalid("model", format!("the suffix of '{suffix}' is given twice")));
            }
        }
        Ok(named)
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<Asked<'a>>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Refusal::invalid(name, format!("the header {name} stands twice")));
    }
    let value =
        value.to_str().map_err(|_| Refusal::invalid(name, format!("the header {name} is not plain text")))?;
    Ok(Some(Asked { param: name, value: value.trim() }))
}

fn read_rounds(asked: Asked<'_>) -> Result<Rounds, Refusal> {
    asked.value.parse().map_err(|error| Refusal::invalid(asked.param, format!("{error}")))
}

fn read_plant(asked: Asked<'_>, plants: Switch) -> Result<&'static PlantSpec, Refusal> {
    if plants == Switch::Off {
        let message = "plants and decoys are only served by an engine that was started with --plants";
        return Err(Refusal::invalid(asked.param, message));
    }
    plant::named(asked.value).ok_or_else(|| {
        Refusal::invalid(asked.param, format!("there is no plant or decoy '{}'", shown(asked.value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `headers` are rounds and plant; the answer is base, rounds and plant, or the refused param.
    fn check(model: &str, headers: [&str; 2], plants: Switch, expect: Result<(&str, Rounds, &str), &str>) {
        let mut map = HeaderMap::new();
        for (name, value) in [ROUNDS_HEADER, PLANT_HEADER].into_iter().zip(headers) {
            if !value.is_empty() {
                map.insert(name, value.parse().unwrap());
            }
        }
        let read = Steering::read(model, &map, plants);
        let got = read
            .as_ref()
            .map(|(puppet, steering)| {
                (puppet.name, steering.rounds, steering.plant.map_or("", |plant| plant.name))
            })
            .map_err(|refusal| refusal.param.as_deref().unwrap());
        assert_eq!(got, expect, "{model} {headers:?}");
    }

    #[test]
    fn suffixes_stand_in_any_order_and_headers_win() {
        let random = Rounds::Random { seed: 1, max: 8 };
        check("puppet-glm", ["", ""], Switch::Off, Ok(("puppet-glm", Rounds::Every(1), "")));
        check("puppet-glm+rounds-3", ["", ""], Switch::Off, Ok(("puppet-glm", Rounds::Every(3), "")));
        check("puppet-glm+rounds-rand-1-8", ["", ""], Switch::Off, Ok(("puppet-glm", random, "")));
        check(
            "puppet-glm+rounds-rand:1:8",
            ["whole", ""],
            Switch::Off,
            Ok(("puppet-glm", Rounds::Whole, "")),
        );
        let both = Ok(("puppet-hermes", Rounds::Special, "done-missing"));
        check("puppet-hermes+rounds-special+plant-done-missing", ["", ""], Switch::On, both);
        check("puppet-hermes+plant-done-missing+rounds-special", ["", ""], Switch::On, both);
        check("puppet-hermes+plant-crlf", ["special", "done-missing"], Switch::On, both);
    }

    #[test]
    fn a_header_that_stands_twice_is_refused() {
        let mut map = HeaderMap::new();
        for rounds in ["1", "2"] {
            map.append(ROUNDS_HEADER, rounds.parse().unwrap());
        }
        let refusal = Steering::read("puppet-glm", &map, Switch::Off).unwrap_err();
        assert_eq!(refusal.param.as_deref(), Some(ROUNDS_HEADER));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for model in
            ["", "puppet", "puppet-glm+", "puppet-glm+x", "puppet-glm+rounds", "+rounds-1", "puppet-glm+X-1"]
        {
            check(model, ["", ""], Switch::On, Err("model"));
        }
        for model in [
            "puppet-glm+rounds-0",
            "puppet-glm+rounds-1+rounds-1",
            "puppet-glm+plant-",
            "puppet-glm+plant-nothing",
        ] {
            check(model, ["", ""], Switch::On, Err("model"));
        }
        check("puppet-glm", ["0", ""], Switch::On, Err(ROUNDS_HEADER));
        check("puppet-glm", ["", "nothing"], Switch::On, Err(PLANT_HEADER));
        check("puppet-glm", ["", "done-missing"], Switch::Off, Err(PLANT_HEADER));
        check("puppet-glm+plant-crlf", ["", ""], Switch::Off, Err("model"));
    }
}
