//! Packets, much as tcpdump prints them.

use super::Parser;
use crate::lexer::Token;
use crate::place::SyntaxError;
use crate::settings::{COOKIE, cookie_of};
use crate::syntax::{Action, EcnField, Options, Packet};
use longfat_core::packet::{AccEcnOption, Cookie, Ecn, Segment, flags};

/// Protocols between the direction and a TCP packet: packets in packets, and other protocols.
const OTHERS: &[&str] = &["ipv4", "ipv6", "gre", "mpls", "sctp", "udplite"];
const OPTIONS: &[&str] = &["mss", "wscale", "sackOK", "sack", "TS", "ECN", "FO", "nop", "eol"];

/// More payload than any script has, and small enough that sums of it fit.
const LONGEST: u64 = 1 << 31;

impl Parser {
    /// Parses the packet after `<` (inject) or `>`.
    pub(super) fn packet(&mut self, inject: bool) -> Result<Action, SyntaxError> {
        let mut unsupported = None;
        let mut ecn = EcnField::Unsaid;
        let mut dscp = None;
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Token::Mark('[' | '('), _) => match self.bracket(&mut dscp)? {
                    Ok(field) => ecn = field,
                    Err(what) => unsupported = unsupported.or(Some(what)),
                },
                (Token::Integer(_), Token::Mark('>')) => {
                    self.count("the port it comes from", 65_535)?;
                    self.expect('>', "the port it comes from")?;
                    self.count("the port it goes to", 65_535)?;
                    unsupported = unsupported.or(Some("ports: there is one connection".to_owned()));
                }
                _ => break,
            }
        }
        if let Token::Word(word) = self.peek().clone() {
            if matches!(word.as_str(), "icmp" | "udp") {
                self.next();
                return if word == "icmp" { self.icmp() } else { self.udp() };
            }
            if OTHERS.contains(&word.as_str()) {
                self.give_up();
                return Ok(Action::Unsupported(format!("a packet of {word}")));
            }
        }
        let (flags, odd) = self.flags()?;
        let (start, len) = self.sequence()?;
        let mut segment = Segment::new(start, flags.flags, len.min(u64::from(u16::MAX)) as u16);
        let ack = if self.takes_word("ack") { Some(self.count("an acknowledgment number", u32::MAX.into())? as u32) } else { None };
        segment.ack = ack.unwrap_or(0);
        let window = if self.takes_word("win") { Some(self.count("a window, as in the header", 65_535)? as u16) } else { None };
        segment.window = window.unwrap_or(0);
        if self.takes_word("urg") {
            self.count("an urgent pointer", 65_535)?;
            unsupported = unsupported.or(Some("urgent data".to_owned()));
        }
        let mut options = Options::Listed { any_ts_val: false, any_ts_ecr: false };
        if self.takes('<') {
            match self.options(&mut segment, inject)? {
                Ok(listed) => options = listed,
                Err(what) => unsupported = unsupported.or(Some(what)),
            }
        }
        if let Some(what) = unsupported.or(odd) {
            return Ok(Action::Unsupported(what));
        }
        if inject && len > u64::from(u16::MAX) - 60 {
            return Ok(Action::Unsupported(format!("injecting {len} bytes in one packet")));
        }
        let packet = Packet { segment, len, ecn, dscp, ack, window, options };
        Ok(if inject { Action::Inject(packet) } else { Action::Expect(packet) })
    }

    /// `[ect0]`, `[ce]`, `[tos 0x2]`, `(flowlabel 0x1)`, ...: of the IP header; or `[1:1001(1000)]`, which an ICMP message quotes.
    fn bracket(&mut self, dscp: &mut Option<u8>) -> Result<Result<EcnField, String>, SyntaxError> {
        let close = if self.takes('(') { ')' } else { ']' };
        if close == ']' {
            self.expect('[', "the direction")?;
        }
        let mut found = Err("what an ICMP message quotes".to_owned());
        if matches!(self.peek(), Token::Integer(_)) {
            self.sequence()?;
        } else {
            let expected = "`noecn`, `ect0`, `ect1`, `ect01`, `ce`, `tos`, `ttl`, `flowlabel` or `udp`";
            let place = self.place();
            match self.word(expected)?.as_str() {
                "noecn" => found = Ok(EcnField::Is(Ecn::NotEct)),
                "ect0" => found = Ok(EcnField::Is(Ecn::Ect0)),
                "ect1" => found = Ok(EcnField::Is(Ecn::Ect1)),
                "ect01" => found = Ok(EcnField::EitherEct),
                "ce" => found = Ok(EcnField::Is(Ecn::Ce)),
                "tos" => {
                    // RFC 3168 §5: the two low bits.
                    let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
                    let tos = self.count("a TOS byte", 255)? as u8;
                    *dscp = Some(tos >> 2);
                    found = Ok(EcnField::Is(ecn[usize::from(tos & 3)]));
                }
                "ttl" => {
                    self.count("a time to live", 255)?;
                    found = Err("a time to live: no packet is an IP packet here".to_owned());
                }
                "flowlabel" => {
                    self.count("a flow label", 0xf_ffff)?;
                    found = Err("a flow label: no packet is an IP packet here".to_owned());
                }
                "udp" => {
                    self.length()?;
                }
                word => {
                    return Err(SyntaxError::new(place, format!("`{word}` is no field of the IP header here"), expected.to_owned()));
                }
            }
        }
        self.expect(close, "a field of the IP header")?;
        Ok(found)
    }

    /// Parses the flags, as those of a segment without anything else; also returns any oddity about them.
    fn flags(&mut self) -> Result<(Segment, Option<String>), SyntaxError> {
        let expected = "flags: letters of SFRPEWA, a digit for the ACE field, `.` for ACK, `-` for none";
        let mut segment = Segment::default();
        if self.takes('-') {
            return Ok((segment, None));
        }
        let mut odd = None;
        let place = self.place();
        if let Token::Word(word) = self.peek().clone() {
            for c in word.chars() {
                match c {
                    'F' => segment.flags |= flags::FIN,
                    'S' => segment.flags |= flags::SYN,
                    'R' => segment.flags |= flags::RST,
                    'P' => segment.flags |= flags::PSH,
                    'E' => segment.flags |= flags::ECE,
                    'W' => segment.flags |= flags::CWR,
                    'U' => odd = Some("urgent data".to_owned()),
                    'A' => segment.flags |= flags::AE,
                    // RFC 9768 §3.2.2: AE, CWR and ECE as one number.
                    '0'..='7' => segment.flags |= (c as u16 - '0' as u16) * flags::ECE,
                    _ => return Err(SyntaxError::new(place, format!("`{c}` is no TCP flag"), expected.to_owned())),
                }
            }
            self.next();
        } else if *self.peek() != Token::Mark('.') {
            return self.unexpected(&format!("{expected}; or `icmp`, `udp`"));
        }
        if self.takes('.') {
            segment.flags |= flags::ACK;
        }
        Ok((segment, odd))
    }

    /// `first:last(length)`: the first number and the length.
    fn sequence(&mut self) -> Result<(u32, u64), SyntaxError> {
        let place = self.place();
        let start = self.count("the first sequence number", u32::MAX.into())? as u32;
        self.expect(':', "the first sequence number")?;
        let end = self.count("the sequence number after the last byte", u32::MAX.into())? as u32;
        let len = self.length()?;
        if start.wrapping_add(len as u32) != end {
            let right = start.wrapping_add(len as u32);
            return Err(SyntaxError::new(
                place,
                format!("{len} bytes from {start} do not end at {end}"),
                format!("{start}:{right}({len})"),
            ));
        }
        Ok((start, len))
    }

    fn length(&mut self) -> Result<u64, SyntaxError> {
        self.expect('(', "sequence numbers")?;
        let len = self.count("bytes of payload", LONGEST)?;
        self.expect(')', "the length")?;
        Ok(len)
    }

    /// Parses the options after `<`, to `>`. An unsupported option is `Err`.
    fn options(&mut self, segment: &mut Segment, inject: bool) -> Result<Result<Options, String>, SyntaxError> {
        if *self.peek() == Token::Ellipsis {
            let place = self.place();
            self.next();
            self.expect('>', "`...`")?;
            if inject {
                return Err(SyntaxError::new(
                    place,
                    "an injected packet has no options to leave open".to_owned(),
                    "its options, or none".to_owned(),
                ));
            }
            return Ok(Ok(Options::Any));
        }
        let (mut any_ts_val, mut any_ts_ecr) = (false, false);
        let mut unsupported = None;
        loop {
            if let Some(what) = self.option(segment, &mut any_ts_val, &mut any_ts_ecr)? {
                unsupported = Some(what);
            }
            if self.takes('>') {
                break;
            }
            self.expect(',', "an option")?;
        }
        if inject && (any_ts_val || any_ts_ecr) {
            return self.unexpected("the numbers of an injected timestamp before this");
        }
        Ok(unsupported.map_or(Ok(Options::Listed { any_ts_val, any_ts_ecr }), Err))
    }

    fn option(&mut self, segment: &mut Segment, any_val: &mut bool, any_ecr: &mut bool) -> Result<Option<String>, SyntaxError> {
        let place = self.place();
        let expected = format!("an option: {}", OPTIONS.join(", "));
        let name = self.word(&expected)?;
        let syn = segment.has(flags::SYN);
        let full = "more options than a header holds".to_owned();
        match name.as_str() {
            "nop" | "eol" => {}
            "mss" => {
                let mss = self.count("an MSS", 65_535)? as u16;
                if !syn {
                    return Ok(Some("the mss option without SYN".to_owned()));
                }
                segment.set_mss(mss);
            }
            "wscale" => {
                let shift = self.count("a shift", 255)? as u8;
                if !syn {
                    return Ok(Some("the wscale option without SYN".to_owned()));
                }
                segment.set_window_scale(shift);
            }
            "sackOK" => {
                if !syn {
                    return Ok(Some("the sackOK option without SYN".to_owned()));
                }
                segment.set_sack_permitted();
            }
            "sack" => {
                let mut fits = !syn;
                loop {
                    let left = self.count("the left edge of a block", u32::MAX.into())? as u32;
                    self.expect(':', "the left edge of a block")?;
                    let right = self.count("the right edge of a block", u32::MAX.into())? as u32;
                    fits = fits && segment.push_sack(left, right);
                    if !matches!(self.peek(), Token::Integer(_)) {
                        break;
                    }
                }
                if !fits {
                    return Ok(Some(if syn { "the sack option with SYN".to_owned() } else { full }));
                }
            }
            "TS" => {
                let number = |parser: &mut Self, word: &str, any: &mut bool| {
                    if !parser.takes_word(word) {
                        return parser.unexpected("`TS val N ecr N`");
                    }
                    if *parser.peek() == Token::Ellipsis {
                        parser.next();
                        *any = true;
                        return Ok(0);
                    }
                    parser.count("a timestamp", u32::MAX.into()).map(|n| n as u32)
                };
                let val = number(self, "val", any_val)?;
                let ecr = number(self, "ecr", any_ecr)?;
                if segment.sack_count() == 4 {
                    return Ok(Some(full));
                }
                segment.set_timestamps(val, ecr);
            }
            "FO" => {
                let cookie = match self.peek() {
                    Token::Word(digits) => cookie_of(digits),
                    Token::Integer(_) => None,
                    _ => Some(Cookie::REQUEST),
                };
                let Some(cookie) = cookie else { return self.unexpected(COOKIE) };
                if !cookie.is_request() {
                    self.next();
                }
                if !syn {
                    return Ok(Some("the FO option without SYN".to_owned()));
                }
                if !segment.set_fast_open(cookie) {
                    return Ok(Some(full));
                }
            }
            "ECN" => {
                if !segment.set_accecn(self.counters()?) {
                    return Ok(Some(full));
                }
            }
            // A slip of the pen; anything else may be an option that some stack has.
            _ if OPTIONS.iter().any(|option| strsim::levenshtein(option, &name) == 1) => {
                return Err(SyntaxError::new(place, format!("`{name}` is no TCP option"), expected));
            }
            _ => {
                while !matches!(self.peek(), Token::Mark(',' | '>') | Token::End) {
                    self.next();
                }
                return Ok(Some(format!("the TCP option {name}")));
            }
        }
        Ok(None)
    }

    /// Parses the fields after `ECN`: up to three of `e0b N ceb N e1b N`, or the same from `e1b` on (RFC 9768 §3.2.3).
    fn counters(&mut self) -> Result<AccEcnOption, SyntaxError> {
        let order = u8::from(matches!(self.peek(), Token::Word(word) if word == "e1b"));
        let mut option = AccEcnOption { order, fields: 0, values: [0; 3] };
        for name in [["e0b", "ceb", "e1b"], ["e1b", "ceb", "e0b"]][usize::from(order)] {
            if !self.takes_word(name) {
                break;
            }
            option.values[usize::from(option.fields)] = self.count("a counter of 24 bits", (1 << 24) - 1)? as u32;
            option.fields += 1;
        }
        Ok(option)
    }

    /// `icmp type [code] [mtu N]`, with `[1:1001(1000)]` somewhere: read over.
    fn icmp(&mut self) -> Result<Action, SyntaxError> {
        let mut what = format!("ICMP ({})", self.word("the type of the ICMP message")?);
        loop {
            match self.peek() {
                Token::Word(word) if word == "mtu" => {
                    self.next();
                    self.count("an MTU", 65_535)?;
                }
                Token::Word(_) => what = format!("{} {})", what.trim_end_matches(')'), self.word("its code")?),
                Token::Mark('[') => {
                    let _ = self.bracket(&mut None)?;
                }
                _ => return Ok(Action::Unsupported(what)),
            }
        }
    }

    fn udp(&mut self) -> Result<Action, SyntaxError> {
        self.length()?;
        Ok(Action::Unsupported("UDP".to_owned()))
    }
}
