//! The next step that a verdict asks for.

use longfat_record::trace::Cause;

/// One thing to look at or to change.
pub(crate) fn next(cause: Cause) -> &'static str {
    match cause {
        Cause::ReceiveWindow => "raise the receiver's buffer: `net.ipv4.tcp_rmem`, or the application's SO_RCVBUF, to the BDP and more",
        Cause::ClosingWindow => "profile the receiving application: it reads more slowly than the path delivers",
        Cause::ReceiverRing => "look for drops at the receiver (`ethtool -S`, /proc/net/softnet_stat); enlarge its ring (`ethtool -G`)",
        Cause::SendBuffer => "raise the sender's buffer: `net.ipv4.tcp_wmem`, or the application's SO_SNDBUF, to twice the BDP",
        Cause::Application => "profile the sending application: the network waits for it",
        Cause::Nagle => "set TCP_NODELAY, or write each message at once",
        Cause::CongestionLoss => "find out who else uses the bottleneck; against its delay, a shorter queue or fq_codel there",
        Cause::CongestionEcn => "find out who else uses the bottleneck; its queue is short already",
        Cause::ActiveQueue => {
            "find out who else uses the bottleneck; switch ECN on at both ends (`net.ipv4.tcp_ecn = 1`) to save the losses"
        }
        Cause::SmallBuffer => "pace the sender (`fq`), or enlarge the bottleneck's buffer",
        Cause::RandomLoss => "look for errors on each link (`ip -s link`, `ethtool -S`, radio, optics); BBR bears such losses better",
        Cause::Policer => "ask who runs the path for the rate it enforces, and shape or pace the sender just below it",
        Cause::Reordering => "look for links in parallel or queues per packet; use RACK and DSACK at the sender, which bear it",
        Cause::PathChange => "trace the route before and after (`mtr`)",
        Cause::FullPath => "nothing: the path is used up. More needs a faster bottleneck",
        Cause::Growing => "capture for longer: the window was still growing",
        Cause::TooShort => "capture a longer transfer",
        Cause::Unknown => "capture both directions from the handshake on, at the sender, with a fine clock",
    }
}
