//! Bytes that each kind of link adds to an IP packet, and the share of its line rate that is left: one row per kind in [`REGISTRY`].

use crate::atm::aal5;
use crate::by_name;
use crate::units::Rate;

/// One kind of link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Framing {
    /// Name as users write it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Source that defines it: authors, title, venue and year, or "none: longfat's own".
    pub source: &'static str,
    /// Rate of framed packets: the line rate less physical framing. `None`: the user gives it.
    pub rate: Option<Rate>,
    /// Link-layer bytes sent with each IP packet, gaps included.
    pub overhead: u32,
    /// Least framed bytes of a packet; shorter ones are padded to it.
    pub min_frame: u32,
    /// Largest IP packet unless the user says otherwise.
    pub mtu: u32,
    /// True if packets are carried as AAL5 frames of cells; the overhead is in the frame then.
    pub cells: bool,
}

/// Returns the bytes that the line carries for an IP packet of `ip_len` bytes: framed, or in cells.
#[inline]
pub const fn wire_len(ip_len: u32, overhead: u32, min_frame: u32, cells: bool) -> u32 {
    let framed = ip_len + overhead;
    if cells {
        aal5::cells(framed) * aal5::CELL
    } else if framed > min_frame {
        framed
    } else {
        min_frame
    }
}

/// Every kind of link, in the order of listings.
pub const REGISTRY: &[Framing] = &[
    Framing {
        name: "plain",
        summary: "a rate you give, nothing added to a packet",
        source: "none: longfat's own",
        rate: None,
        overhead: 0,
        min_frame: 0,
        mtu: 1500,
        cells: false,
    },
    ethernet("ethernet-10m", "Ethernet, 10 Mb/s", 10_000_000),
    ethernet("ethernet-100m", "Ethernet, 100 Mb/s", 100_000_000),
    ethernet("ethernet-1g", "Ethernet, 1 Gb/s", 1_000_000_000),
    ethernet("ethernet-10g", "Ethernet, 10 Gb/s", 10_000_000_000),
    ethernet("ethernet-40g", "Ethernet, 40 Gb/s", 40_000_000_000),
    ethernet("ethernet-100g", "Ethernet, 100 Gb/s", 100_000_000_000),
    Framing {
        name: "fddi",
        summary: "FDDI ring, 100 Mb/s (token passing not modelled)",
        source: "ANSI X3.139 section 7.2; RFC 1390",
        rate: Some(Rate::from_bps(100_000_000)),
        // ANSI X3.139 (FDDI MAC) §7.2, in bytes: preamble 8 (16 symbols), starting delimiter 1, frame control 1, two
        // addresses of 6, FCS 4, ending delimiter and frame status 2 (1 + 3 symbols): 28. RFC 1390: LLC 3 and SNAP 5.
        overhead: 28 + 8,
        min_frame: 0,
        // RFC 1390, "Maximum Transmission Unit".
        mtu: 4352,
        cells: false,
    },
    Framing {
        name: "ds3",
        summary: "DS3 (T3), clear channel: 44.736 Mb/s on the line, 44.21 Mb/s after DS3 framing",
        source: "ANSI T1.107; RFC 1662; Villamizar and Song, High Performance TCP in ANSNET, ACM CCR 24(5), 1994, footnote 1",
        // ANSI T1.107: of each M-frame of 4760 bits 56 are overhead; 44.736 Mb/s x 84/85. ANSNET paper, footnote 1: 44.21.
        rate: Some(Rate::from_bps(44_209_694)),
        overhead: PPP_FCS16,
        min_frame: 0,
        // The field's practice for serial lines between FDDI rings; a 4352-byte FDDI packet must pass (ANSNET paper, 4.1).
        mtu: 4470,
        cells: false,
    },
    Framing {
        name: "t1",
        summary: "T1 (DS1), clear channel: 1.544 Mb/s on the line, 1.536 Mb/s after framing",
        source: "ANSI T1.107; RFC 1661 and 1662",
        // ANSI T1.107: 192 of the 193 bits of a frame, 8000 frames a second.
        rate: Some(Rate::from_bps(1_536_000)),
        overhead: PPP_FCS16,
        min_frame: 0,
        // RFC 1661 §2: default maximum receive unit.
        mtu: 1500,
        cells: false,
    },
    sonet("oc-3c", "packet over SONET OC-3c: 155.52 Mb/s on the line, 149.76 Mb/s of payload", 3),
    sonet("oc-12c", "packet over SONET OC-12c: 622.08 Mb/s on the line, 599.04 Mb/s of payload", 12),
    sonet("oc-48c", "packet over SONET OC-48c: 2488.32 Mb/s on the line, 2396.16 Mb/s of payload", 48),
    sonet("oc-192c", "packet over SONET OC-192c: 9953.28 Mb/s on the line, 9584.64 Mb/s of payload", 192),
    // 141.333 Mb/s, so that a cell takes 3 microseconds. To the picosecond.
    atm(
        "atm",
        "ATM at 141.333 Mb/s: a cell takes 3 microseconds",
        "Romanow and Floyd, Dynamics of TCP Traffic over ATM Networks, IEEE JSAC, 1995, section 2; RFC 2225 and 2684",
        141_333_333,
    ),
    // 12 cells in each PLCP frame of 125 microseconds.
    atm(
        "atm-ds3",
        "ATM over DS3 with PLCP: 96,000 cells a second",
        "ANSI T1.646, B-ISDN user-network interfaces; RFC 2225 and 2684",
        96_000 * 424,
    ),
    atm("atm-oc-3c", "ATM over SONET OC-3c: 149.76 Mb/s of cells", "ANSI T1.105; RFC 2225 and 2684", 149_760_000),
    atm("atm-oc-12c", "ATM over SONET OC-12c: 599.04 Mb/s of cells", "ANSI T1.105; RFC 2225 and 2684", 599_040_000),
];
by_name!(Framing, "link type");

/// RFC 1662 §3.1: address, control, protocol (2), FCS (2) and the flag between frames. Stuffing, which depends on the
/// data, is left out.
const PPP_FCS16: u32 = 7;
/// PPP with a 32-bit FCS (RFC 2615 §2 and §3).
const PPP_FCS32: u32 = 9;

/// IEEE 802.3 clauses 3 and 4: preamble and delimiter 8, header 14, FCS 4, gap 12; 46 bytes of payload at least, 1500 at most.
const fn ethernet(name: &'static str, summary: &'static str, bps: u64) -> Framing {
    Framing {
        name,
        summary,
        source: "IEEE 802.3 clauses 3 and 4",
        rate: Some(Rate::from_bps(bps)),
        overhead: 8 + 14 + 4 + 12,
        min_frame: 38 + 46,
        mtu: 1500,
        cells: false,
    }
}

/// RFC 2615 §4: PPP in an STS-Nc payload. ANSI T1.105: 87 N columns of 9 bytes, 8000 times a second, less one column of
/// path overhead and N/3 - 1 columns of fixed stuff.
const fn sonet(name: &'static str, summary: &'static str, n: u64) -> Framing {
    let columns = 87 * n - n / 3;
    // MTU: the field's practice on such interfaces, as for ds3.
    Framing {
        name,
        summary,
        source: "ANSI T1.105; RFC 2615",
        rate: Some(Rate::from_bps(columns * 9 * 8 * 8000)),
        overhead: PPP_FCS32,
        min_frame: 0,
        mtu: 4470,
        cells: false,
    }
}

const fn atm(name: &'static str, summary: &'static str, source: &'static str, bps: u64) -> Framing {
    // RFC 2225 §6 and §7: LLC/SNAP encapsulation and an MTU of 9180 by default.
    Framing { name, summary, source, rate: Some(Rate::from_bps(bps)), overhead: aal5::LLC_SNAP, min_frame: 0, mtu: 9180, cells: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn len(name: &str, ip_len: u32) -> u32 {
        let f = find(name).unwrap();
        wire_len(ip_len, f.overhead, f.min_frame, f.cells)
    }

    fn bps(name: &str) -> u64 {
        find(name).and_then(|f| f.rate).unwrap().as_bps()
    }

    #[test]
    fn payload_rates_are_the_published_ones() {
        // RFC 1619 §4 and RFC 3255 §2 publish the SONET ones.
        assert_eq!(bps("oc-3c"), 149_760_000);
        assert_eq!(bps("oc-12c"), 599_040_000);
        assert_eq!(bps("oc-48c"), 2_396_160_000);
        assert_eq!(bps("oc-192c"), 9_584_640_000);
        assert_eq!(bps("ds3"), (44_736_000_u64 * 84 + 42) / 85);
        assert_eq!((bps("ds3") + 5_000) / 10_000, 4421, "ANSNET paper, footnote 1: 44.21 Mb/s");
        assert_eq!(bps("t1"), 1_544_000 - 8_000);
    }

    #[test]
    fn ethernet_packet_rates_are_the_well_known_ones() {
        // Frames of 64 bytes at 1 Gb/s: 1,488,095 a second; of 1518: 81,274.
        let per_second = |ip_len| bps("ethernet-1g") / 8 / u64::from(len("ethernet-1g", ip_len));
        assert_eq!(per_second(20), 1_488_095);
        assert_eq!(per_second(46), 1_488_095);
        assert_eq!(per_second(1500), 81_274);
    }

    #[test]
    fn an_atm_link_carries_whole_cells() {
        // 9180 bytes, LLC/SNAP and trailer: 9196 bytes in 192 cells. An ACK takes one cell without LLC/SNAP, and two with it.
        assert_eq!(len("atm", 9180), 192 * 53);
        assert_eq!((len("atm", 40), wire_len(40, 0, 0, true)), (2 * 53, 53));
        assert_eq!(find("atm").unwrap().rate.unwrap().transmit_time(53), crate::time::Duration::from_micros(3));
        assert_eq!(bps("atm-ds3"), 40_704_000);
    }

    #[test]
    fn the_registry_is_sound() {
        for framing in REGISTRY {
            assert!(framing.mtu >= 576, "{}", framing.name);
            assert_eq!(framing.rate.is_none(), framing.name == "plain");
            if !framing.cells {
                assert_eq!(len(framing.name, framing.mtu), framing.mtu + framing.overhead, "{}", framing.name);
            }
        }
    }
}
