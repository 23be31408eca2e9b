// Window, by the name that this room uses. Plain value.
#pragma once

#include "ring/backend/window.h"

namespace ring::algo {

using Window = backend::Window;

}  // namespace ring::algo
