#!/usr/bin/perl
# toy detector, prints like the C one so that our plot script still works
use strict;
use warnings;
use Time::HiRes qw(sleep time);

my ($batch, $max) = (64, 500200);
while (my $arg = shift @ARGV) {
    if    ($arg eq '-batch') { $batch = shift @ARGV; }
    elsif ($arg eq '-max')   { $max   = shift @ARGV; }
}
$| = 1;
print "layer     filters    size              input                output\n";
my $size = 416;
for my $i (0 .. 7) {
    my $f = 16 * 2**($i < 6 ? $i : 6);
    printf "%5d conv  %5d  3 x 3 / 1   %3d x %3d x%4d   ->   %3d x %3d x%4d  %.3f BFLOPs\n", $i, $f, $size, $size, $i ? $f / 2 : 3, $size, $size, $f, 0.15 * $i + .15;
    $size = int($size / 2) if $i < 5;
}
print "Loading weights from darknet53.conv.74...Done!\n";
print "Learning Rate: 0.001, Momentum: 0.9, Decay: 0.0005\n";
my ($avg, $images) = (812.4, 0);
for my $i (1 .. $max) {
    my $t = time;
    sleep(0.004 + 0.0008 * $batch);
    $images += $batch;
    my $loss = $avg * (0.9 + rand 0.2);
    $avg = $avg * .995 + $loss * .005 - $avg * .002;
    printf "%d: %f, %f avg, %f rate, %f seconds, %d images\n", $i, $loss, $avg, 0.001, time - $t, $images;
}
