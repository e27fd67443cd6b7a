# A dumbbell of bulk flows for bench/peers.py, as row (a) to (c) of `make bench` has it: hosts at 1 Gb/s and 1 ms, one bottleneck with
# a drop-tail queue of one BDP, SACK with delayed ACKs and timestamps' absence (ns-2's agents have none), windows that never limit.
#
#     ns dumbbell.tcl FLOWS RATE_MBPS RTT_MS EDGE_MBPS QUEUE_PACKETS SECONDS
#
# Prints the data packets sent, retransmissions included, and those acknowledged.
lassign $argv flows rate rtt edge queue seconds

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate}Mb [expr {$rtt / 2.0 - 2}]ms DropTail
$ns queue-limit $left $right $queue
$ns queue-limit $right $left $queue

Agent/TCP set window_ 100000000
Agent/TCP set maxcwnd_ 0
Agent/TCP set packetSize_ 1460
Agent/TCP set overhead_ 0
Agent/TCP set windowInit_ 10
Agent/TCP set windowInitOption_ 1
Agent/TCPSink/Sack1/DelAck set interval_ 100ms

set agents {}
for {set i 0} {$i < $flows} {incr i} {
    set from [$ns node]
    set to [$ns node]
    foreach {host router} [list $from $left $to $right] {
        $ns duplex-link $host $router ${edge}Mb 1ms DropTail
        $ns queue-limit $host $router 10000000
        $ns queue-limit $router $host 10000000
    }
    set source [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $from $source
    $ns attach-agent $to $sink
    $ns connect $source $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $source
    $ns at 0 "$ftp start"
    lappend agents $source
}
proc finish {} {
    global agents
    set sent 0
    set acked 0
    foreach agent $agents {
        incr sent [expr {int([$agent set ndatapack_])}]
        incr acked [expr {int([$agent set ack_])}]
    }
    puts "$sent $acked"
    exit 0
}
$ns at $seconds finish
$ns run
