// What the members of a group find out together before they work: whether each can have a core, and which
// kind of stores into slots is faster on this machine. Executing thread only.
#pragma once

#include "ring/algo/local/session.h"
#include "ring/backend/backend.h"
#include "ring/base/status.h"

namespace ring::algo::local {

// Once, by all members, before anything else: chooses how to wait, and takes over what an earlier group of
// this host has measured.
[[nodiscard]] Status open(Session& session, const backend::Call& call);

// Once, by all members, before the first large collective: a few milliseconds of measuring.
[[nodiscard]] Status probe(Session& session, const backend::Call& call);

}  // namespace ring::algo::local
