#pragma once

namespace sweetspot::probe::cpu {

// Multiply-adds in registers that wait for nothing but the CPU: the fp32 operations (a multiply-add
// is two) of one call, some microseconds of the widest instructions this CPU has.
double multiply_adds();

// Operations a second of `threads` threads at once, each judged by its best millisecond of
// `seconds`.
double peak_flops_per_second(int threads, double seconds);

}  // namespace sweetspot::probe::cpu
