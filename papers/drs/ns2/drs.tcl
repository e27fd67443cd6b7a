# The paper's dumbbell in ns-2, with the defaults of ns-2 in 2001: `ns drs.tcl key=value...`; ns2.py runs it and says what the keys mean.
# Prints a line for each flow: kind, ACKs that came back, packets retransmitted, timeouts; and one of the bottleneck: drops, arrivals.

array set o {static 1 dynamic 1 maxwnd 400 queue 100 seconds 200 rate 100Mb delay 10ms order turns}
foreach word $argv { lassign [split $word =] key value; set o($key) $value }

remove-all-packet-headers
add-packet-header Flags IP TCP
set ns [new Simulator]

# Of 2001: a clock of 100 ms, one packet at the start, an ACK for each packet, data packets of 1500 bytes with headers and ACKs of 40.
foreach {name value} {
    tcpTick_ 0.1  windowInit_ 1  syn_ false  delay_growth_ false  singledup_ 0  minrto_ 0.2  rfc2988_ false
    updated_rttvar_ false  rtxcur_init_ 6.0  useHeaders_ false  bugfix_ss_ 0  packetSize_ 1500  maxburst_ 0
} { Agent/TCP set $name $value }

set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 $o(rate) $o(delay) DropTail
$ns queue-limit $r1 $r2 $o(queue)
$ns queue-limit $r2 $r1 $o(queue)
set bottleneck [$ns monitor-queue $r1 $r2 ""]

set flows {}
proc flow {kind window} {
    global ns r1 r2 o flows
    set host [$ns node]
    set peer [$ns node]
    foreach {a b} [list $host $r1 $r2 $peer] {
        $ns duplex-link $a $b $o(rate) $o(delay) DropTail
        $ns queue-limit $a $b 100000
        $ns queue-limit $b $a 100000
    }
    set sender [new Agent/TCP/Reno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $host $sender
    $ns attach-agent $peer $sink
    $ns connect $sender $sink
    $sender set window_ $window
    set source [new Application/FTP]
    $source attach-agent $sender
    $ns at 0 "$source start"
    lappend flows $kind $sender
}

# Static and dynamic flows in turn, or all static ones first; ties at R1 are won in the order in which links were made.
if {$o(order) eq "turns"} {
    for {set i 0} {$i < max($o(static), $o(dynamic))} {incr i} {
        if {$i < $o(static)} { flow static 44 }
        if {$i < $o(dynamic)} { flow dynamic $o(maxwnd) }
    }
} else {
    for {set i 0} {$i < $o(static)} {incr i} { flow static 44 }
    for {set i 0} {$i < $o(dynamic)} {incr i} { flow dynamic $o(maxwnd) }
}

proc finish {} {
    global flows bottleneck
    foreach {kind sender} $flows {
        puts "$kind [$sender set nackpack_] [$sender set nrexmitpack_] [$sender set nrexmit_]"
    }
    puts "bottleneck [$bottleneck set pdrops_] [$bottleneck set parrivals_]"
    exit 0
}
$ns at $o(seconds) finish
$ns run
