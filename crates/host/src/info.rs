//! `TCP_INFO` of a socket; [`longfat_record::trace::tcp_info`] has its fields.

use std::io;
use std::os::fd::AsRawFd;

pub use longfat_record::trace::tcp_info::{Field, Info, ROOM, ca_state, field, state};

use crate::sys;

/// Reads the `tcp_info` of a TCP socket.
///
/// # Errors
/// A socket that is not TCP's.
pub fn of(socket: &impl AsRawFd) -> io::Result<Info> {
    let mut bytes = [0; ROOM];
    let len = sys::option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
    Ok(Info::of_filled(&bytes[..len]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_fills_no_more_than_there_is_room_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = of(&stream).unwrap();
        assert!((104..ROOM).contains(&info.filled()) && info.snd_mss() > 500 && info.snd_cwnd() > 0 && info.state() == 1, "{info:?}");
    }

    /// The libc crate has the whole struct for glibc.
    #[cfg(target_env = "gnu")]
    #[test]
    fn places_are_those_of_the_system() {
        macro_rules! places {
            ($($name:ident, $theirs:ident;)*) => {
                $(assert_eq!(field::$name.at, std::mem::offset_of!(libc::tcp_info, $theirs), stringify!($name));)*
            };
        }
        places! {
            retransmits, tcpi_retransmits; wscales, tcpi_snd_rcv_wscale; rto, tcpi_rto; unacked, tcpi_unacked; rtt, tcpi_rtt;
            total_retrans, tcpi_total_retrans; pacing_rate, tcpi_pacing_rate; segs_out, tcpi_segs_out; min_rtt, tcpi_min_rtt;
            delivery_rate, tcpi_delivery_rate; busy_time, tcpi_busy_time; delivered_ce, tcpi_delivered_ce; bytes_sent, tcpi_bytes_sent;
            dsack_dups, tcpi_dsack_dups; snd_wnd, tcpi_snd_wnd; rcv_wnd, tcpi_rcv_wnd; rehash, tcpi_rehash; total_rto, tcpi_total_rto;
            total_rto_time, tcpi_total_rto_time; received_ce, tcpi_received_ce; received_ce_bytes, tcpi_received_ce_bytes;
        }
    }
}
