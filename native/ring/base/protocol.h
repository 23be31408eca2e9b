// The version of everything that ranks send each other. Ranks of different versions refuse to meet.
#pragma once

namespace ring {

inline constexpr int kProtocolVersion = 2;

}  // namespace ring
