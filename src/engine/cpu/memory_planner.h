#pragma once

namespace sweetspot::engine::cpu {

struct Program;

// Places every tensor and every operation's buffers in the arena or in scratch. Regions in the
// arena share bytes if their lifetimes do not overlap.
void plan_memory(Program& program);

}  // namespace sweetspot::engine::cpu
