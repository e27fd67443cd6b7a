//! Explicit congestion notification at the two ends: what the SYNs agree on, what a receiver tells of the marks that reached
//! it ([`Echo`]), and what a sender makes of what it is told ([`Feedback`]).
//!
//! Three kinds of feedback: classic (RFC 3168 §6.1), that of DCTCP (RFC 8257 §3.2) and accurate ECN (RFC 9768, AccECN).

mod echo;
mod feedback;

pub(super) use echo::Echo;
pub(super) use feedback::{Feedback, Marks};
use longfat_core::packet::{Ecn, flags};

/// Kinds of feedback by which a receiver tells its sender of marks. They are also what an end is set to offer and to accept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnKind {
    /// No feedback.
    #[default]
    Off,
    /// ECE on every ACK from a mark until CWR answers it (RFC 3168): one signal a round trip.
    Classic,
    /// ECE on the ACKs of marked segments (RFC 8257 §3.2). It is negotiated as classic ECN is, so both ends must be set to it.
    Dctcp,
    /// Counters of packets and bytes on every ACK (RFC 9768).
    AccEcn,
}

impl EcnKind {
    /// The words of an experiment file.
    pub const NAMES: &'static [&'static str] = &["off", "classic", "dctcp", "accecn"];

    /// Returns the name that experiment files use.
    pub const fn name(self) -> &'static str {
        match self {
            EcnKind::Off => "off",
            EcnKind::Classic => "classic",
            EcnKind::Dctcp => "dctcp",
            EcnKind::AccEcn => "accecn",
        }
    }

    /// The kind called `name`, one of [`Self::NAMES`].
    pub fn named(name: &str) -> Self {
        match name {
            "classic" => EcnKind::Classic,
            "dctcp" => EcnKind::Dctcp,
            "accecn" => EcnKind::AccEcn,
            _ => EcnKind::Off,
        }
    }

    /// Returns true if it says which bytes were marked, not only that some were.
    pub const fn is_exact(self) -> bool {
        matches!(self, EcnKind::Dctcp | EcnKind::AccEcn)
    }

    /// Returns the flags of a SYN that offers this.
    pub(super) const fn request(self) -> u16 {
        match self {
            EcnKind::Off => 0,
            // RFC 3168 §6.1.1.
            EcnKind::Classic | EcnKind::Dctcp => flags::CWR | flags::ECE,
            // RFC 9768 §3.1.1.
            EcnKind::AccEcn => flags::AE | flags::CWR | flags::ECE,
        }
    }

    /// Returns the kind that an end set to this agrees to when the other side's SYN has these flags.
    pub(super) const fn agreed_to_syn(self, syn: u16) -> Self {
        const CLASSIC: u16 = flags::CWR | flags::ECE;
        match (self, syn & ACE) {
            (EcnKind::Off, _) | (_, 0) => EcnKind::Off,
            // RFC 9768 §3.1.2 Table 2, third block; §3.1.3: what is not defined yet counts as a request for AccECN.
            (EcnKind::AccEcn, CLASSIC) => EcnKind::Classic,
            (EcnKind::AccEcn, _) => EcnKind::AccEcn,
            // RFC 3168 §6.1.1; the ninth flag says nothing to who does not know it (RFC 9768 Table 2, second block).
            (kind, bits) if bits & CLASSIC == CLASSIC => kind,
            _ => EcnKind::Off,
        }
    }

    /// Returns true if a SYN with these flags cannot be of the handshake that has `agreed`: one asks for classic feedback, the other for
    /// AccECN (RFC 9768 §3.1.5).
    pub(super) const fn is_contradicted(self, agreed: Self, syn: u16) -> bool {
        matches!(
            (self, agreed, self.agreed_to_syn(syn)),
            (EcnKind::AccEcn, EcnKind::AccEcn, EcnKind::Classic) | (EcnKind::AccEcn, EcnKind::Classic, EcnKind::AccEcn)
        )
    }

    /// Returns the flags of the SYN-ACK that agrees to this. The SYN arrived with `syn` in its ECN field.
    pub(super) const fn answer(self, syn: Ecn) -> u16 {
        match self {
            EcnKind::Off => 0,
            EcnKind::Classic | EcnKind::Dctcp => flags::ECE,
            EcnKind::AccEcn => to_flags(handshake_code(syn)),
        }
    }

    /// Returns the kind that an end which offered this has agreed on when the SYN-ACK has these flags.
    pub(super) const fn agreed_by_syn_ack(self, syn_ack: u16) -> Self {
        match (self, of_flags(syn_ack)) {
            (EcnKind::Off, _) => EcnKind::Off,
            // RFC 9768 §3.1.2 Table 2. 0b111 reflects our SYN: a broken server.
            (EcnKind::AccEcn, 0b000 | 0b111) => EcnKind::Off,
            (EcnKind::AccEcn, 0b001) => EcnKind::Classic,
            (EcnKind::AccEcn, _) => EcnKind::AccEcn,
            // RFC 3168 §6.1.1: ECE without CWR.
            (kind, code) if code & 0b011 == 0b001 => kind,
            _ => EcnKind::Off,
        }
    }
}

/// AE, CWR and ECE: together the ACE field (RFC 9768 §3.2.2).
pub(super) const ACE: u16 = flags::AE | flags::CWR | flags::ECE;
const ACE_SHIFT: u32 = flags::ECE.trailing_zeros();

/// The ACE field of a header's flags.
#[inline]
const fn of_flags(flags: u16) -> u8 {
    ((flags & ACE) >> ACE_SHIFT) as u8
}

/// The flags of an ACE field.
#[inline]
const fn to_flags(ace: u8) -> u16 {
    ((ace & 7) as u16) << ACE_SHIFT
}

/// RFC 9768 Tables 2 and 3: how a SYN-ACK, and the ACK that answers it, tell what was in the ECN field of the other's SYN.
const fn handshake_code(arrived: Ecn) -> u8 {
    match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// Use that a congestion control makes of ECN: declared beside its name, for defaults and for the check of settings that contradict it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnUse {
    /// Kind to which an end with this control is set unless the user says otherwise.
    pub default: EcnKind,
    /// True if it needs to know which bytes were marked. If the other side does not tell, a mark counts as a loss.
    pub exact: bool,
    /// True if only AccECN will do.
    pub accecn: bool,
    /// The codepoint of its data.
    pub ect: Ecn,
}

impl EcnUse {
    /// A mark is a loss without the loss, once a round trip (RFC 3168 §5): any feedback will do, none is asked for.
    pub const CLASSIC: Self = EcnUse { default: EcnKind::Off, exact: false, accecn: false, ect: Ecn::Ect0 };
    /// Use by a control that counts how much was marked (RFC 8257).
    pub const DCTCP: Self = EcnUse { default: EcnKind::Dctcp, exact: true, accecn: false, ect: Ecn::Ect0 };
    /// L4S: ECT(1) and accurate feedback (RFC 9331 §4.1, §4.2).
    pub const L4S: Self = EcnUse { default: EcnKind::AccEcn, exact: true, accecn: true, ect: Ecn::Ect1 };

    /// Returns true if the control can work with feedback of this kind.
    pub const fn accepts(&self, kind: EcnKind) -> bool {
        match kind {
            EcnKind::AccEcn => true,
            EcnKind::Dctcp => !self.accecn,
            EcnKind::Off | EcnKind::Classic => !self.exact,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768 §3.1.2 Table 2, and RFC 3168 §6.1.1: (offered, by the server, AE CWR ECE of the SYN-ACK, agreed).
    #[test]
    fn the_syns_agree_as_table_2_says() {
        use EcnKind::{AccEcn, Classic, Dctcp, Off};
        for (client, server, code, agreed) in [
            (AccEcn, AccEcn, 0b010, AccEcn),
            (AccEcn, Classic, 0b001, Classic),
            (AccEcn, Off, 0b000, Off),
            (Classic, AccEcn, 0b001, Classic),
            (Classic, Classic, 0b001, Classic),
            (Classic, Off, 0b000, Off),
            (Off, AccEcn, 0b000, Off),
            (Off, Classic, 0b000, Off),
            (Off, Off, 0b000, Off),
            (Dctcp, Dctcp, 0b001, Dctcp),
        ] {
            let at_server = server.agreed_to_syn(client.request());
            let syn_ack = at_server.answer(Ecn::NotEct);
            assert_eq!(of_flags(syn_ack), code, "{client:?} to {server:?}");
            assert_eq!((at_server, client.agreed_by_syn_ack(syn_ack)), (agreed, agreed), "{client:?} to {server:?}");
        }
        // A server that reflects the SYN, one of the future (§3.1.3), and what arrived in the ECN field of the SYN.
        assert_eq!(AccEcn.agreed_by_syn_ack(AccEcn.request()), Off);
        assert_eq!(AccEcn.agreed_by_syn_ack(to_flags(0b101)), AccEcn);
        assert_eq!(AccEcn.agreed_to_syn(to_flags(0b010)), AccEcn);
        for (arrived, code) in [(Ecn::NotEct, 0b010), (Ecn::Ect1, 0b011), (Ecn::Ect0, 0b100), (Ecn::Ce, 0b110)] {
            assert_eq!(of_flags(AccEcn.answer(arrived)), code);
            assert_eq!(AccEcn.agreed_by_syn_ack(AccEcn.answer(arrived)), AccEcn);
        }
    }

    #[test]
    fn a_control_says_which_feedback_will_do() {
        let accepted = |uses: EcnUse| EcnKind::NAMES.iter().copied().filter(|name| uses.accepts(EcnKind::named(name))).collect::<Vec<_>>();
        assert_eq!(accepted(EcnUse::CLASSIC), EcnKind::NAMES);
        assert_eq!(accepted(EcnUse::DCTCP), ["dctcp", "accecn"]);
        assert_eq!(accepted(EcnUse::L4S), ["accecn"]);
        for name in EcnKind::NAMES {
            assert_eq!(EcnKind::named(name).name(), *name);
        }
    }
}
