#pragma once

namespace sweetspot::engine::cpu {

struct Program;

// Gives every tensor and every operation its place in the arena or in scratch. Rooms in the arena
// share bytes when they are never in use at the same time.
void plan_memory(Program& program);

}  // namespace sweetspot::engine::cpu
