// The Extender of ranks that met over TCP: it keeps their listening port. Thread-safety: as Extender.
#pragma once

#include <memory>  // for shared_ptr

#include "ring/base/unique_fd.h"
#include "ring/transport/extender.h"
#include "ring/transport/meeting/context.h"

namespace ring::transport {

// Null without a listener.
[[nodiscard]] std::shared_ptr<Extender> make_extender(Context context, UniqueFd tcp_listener);

}  // namespace ring::transport
