#pragma once
#include "report/table.h"

namespace sweetspot::cli {

using report::Column;
using report::display_width;
using report::Table;
using report::unknown;

}  // namespace sweetspot::cli
