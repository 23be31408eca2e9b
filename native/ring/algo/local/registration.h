// Making and ending windows. Called in the same order by all members of a group; executing thread only.
#pragma once

#include <cstddef>  // for byte, size_t

#include "ring/algo/local/session.h"
#include "ring/algo/local/window.h"
#include "ring/backend/backend.h"
#include "ring/base/status.h"

namespace ring::algo::local {

// Zeroed memory of the segment. Where one rank has no memory for it all get kSystem, which says who; the
// group goes on.
[[nodiscard]] Result<Window> allocate(Session& session, std::size_t bytes, const backend::Call& call);

// Puts shared pages beneath memory that this rank has, contents kept. Nobody may write to it meanwhile.
// kInvalidArgument or kSystem, on all ranks alike, where one cannot; the group goes on, nothing has changed.
[[nodiscard]] Result<Window> adopt(Session& session, std::byte* address, std::size_t bytes,
                                   const backend::Call& call);

// An allocated window's memory is given back and may not be touched any more. An adopted one gets private
// pages with its contents again, where it is still what it was.
void release(Session& session, const Window& window);

}  // namespace ring::algo::local
