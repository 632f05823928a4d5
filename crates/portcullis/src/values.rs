//! Values of options.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;

/// A time such as `500ms`, `10s` or `1m30s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "expected a time such as 500ms, 10s or 1m30s";
    let mut rest = text;
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return Err(EXPECTED.to_owned());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or(EXPECTED)?;
        let (number, unit) = rest.split_at_checked(digits).ok_or(EXPECTED)?;
        let letters = unit.find(|c: char| c.is_ascii_digit()).unwrap_or(unit.len());
        let (unit, next) = unit.split_at_checked(letters).ok_or(EXPECTED)?;
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(EXPECTED.to_owned()),
        };
        let part =
            number.parse::<u64>().ok().and_then(|number| number.checked_mul(millis)).ok_or(EXPECTED)?;
        total = total.checked_add(Duration::from_millis(part)).ok_or(EXPECTED)?;
        rest = next;
    }
    Ok(total)
}

/// A port.
pub(crate) fn port(text: &str) -> Result<u16, String> {
    ports(text, 1)
}

/// What is added to ports.
pub(crate) fn port_offset(text: &str) -> Result<u16, String> {
    ports(text, 0)
}

fn ports(text: &str, least: u16) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| format!("expected a number from {least} to {}", u16::MAX))
}

/// A network, or the one of an address alone.
pub(crate) fn network(text: &str) -> Result<IpNet, String> {
    let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map_err(|_| "expected a network such as 10.0.0.0/8, or an address".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_have_a_range() {
        assert_eq!((port("1"), port("65535"), port_offset("0")), (Ok(1), Ok(65_535), Ok(0)));
        for wrong in ["0", "65536", "-1", "http", ""] {
            assert_eq!(port(wrong), Err("expected a number from 1 to 65535".to_owned()), "{wrong}");
        }
        assert_eq!(port_offset("65536"), Err("expected a number from 0 to 65535".to_owned()));
    }

    #[test]
    fn an_address_is_the_network_of_itself() {
        assert_eq!(network("10.1.0.0/16").unwrap().to_string(), "10.1.0.0/16");
        assert_eq!(network("10.0.0.1").unwrap().to_string(), "10.0.0.1/32");
        assert_eq!(network("::1").unwrap().to_string(), "::1/128");
        assert!(network("1.2.3.4/33").is_err());
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        for wrong in ["", "10", "s", "10 s", "-1s", "1d", "99999999999999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
