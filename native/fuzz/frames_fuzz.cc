// Any bytes on a control connection, in pieces of any size: frames, or one refusal; never much memory.
#include <algorithm>  // for min
#include <cstdlib>    // for abort

#include "ring/transport/frames.h"

namespace {

using namespace ring::transport;

// Takes every whole frame; false when the stream is lost.
bool drain(FrameReader& reader) {
  while (true) {
    const auto frame = reader.next();
    if (!frame) return false;
    if (!frame.value()) return true;
    if (frame.value()->kind == FrameKind::kAbort && frame.value()->cause.is_ok()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  FrameReader reader;
  for (std::size_t at = 1; at < size; at += piece) {
    reader.push({data + at, std::min(piece, size - at)});
    if (!drain(reader)) return 0;
  }
  return 0;
}
