#pragma once
#include "core/interval.h"

namespace sweetspot::stats {
using core::Interval;
}
