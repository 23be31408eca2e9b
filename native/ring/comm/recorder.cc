#include "ring/comm/recorder.h"

#include <algorithm>  // for min
#include <utility>    // for exchange

namespace ring::comm {

std::string Record::text() const {
  std::string text = std::string(name_of(kind)) + " #" + std::to_string(sequence);
  if (label[0] != '\0') text += " '" + std::string(label.data()) + "'";
  if (kind != Kind::kBarrier) text += " (" + std::to_string(bytes) + " bytes)";
  return text;
}

std::chrono::steady_clock::time_point Recorder::begin(const Operation& operation, bool is_inline) {
  ++started_;
  Record& record = current();
  record = {};
  record.sequence = operation.sequence;
  record.group = operation.group;
  record.kind = operation.kind;
  record.dtype = operation.dtype;
  record.is_inline = is_inline;
  record.bytes = payload_bytes(operation);
  operation.label.copy(record.label.data(), record.label.size() - 1);
  const auto start = std::chrono::steady_clock::now();
  record.start_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(start.time_since_epoch()).count();
  return start;
}

void Recorder::end(Code code, const backend::Meter& spent) {
  Record& record = current();
  record.end_ns = now_ns();
  record.code = code;
  record.is_done = true;
  record.spent = spent;
  Counters& sums = counters_[static_cast<std::size_t>(record.kind)];
  ++sums.calls;
  sums.bytes += record.bytes;
  sums.total_ns += static_cast<std::uint64_t>(record.end_ns - record.start_ns);
  sums.spent.wait_ns += spent.wait_ns;
  sums.spent.reduce_ns += spent.reduce_ns;
  sums.spent.sent_bytes += spent.sent_bytes;
  sums.spent.received_bytes += spent.received_bytes;
  if (trace_.size() < trace_capacity_) trace_.push_back(record);
}

std::vector<Record> Recorder::recent() const {
  std::vector<Record> records;
  const std::uint64_t kept = std::min<std::uint64_t>(started_, kKept);
  for (std::uint64_t i = started_ - kept; i < started_; ++i) records.push_back(ring_[i % kKept]);
  return records;
}

std::string Recorder::last() const {
  return started_ == 0 ? std::string() : ring_[(started_ - 1) % kKept].text();
}

void Recorder::trace(std::size_t capacity) {
  trace_capacity_ = capacity;
}

std::vector<Record> Recorder::take_trace() {
  return std::exchange(trace_, {});
}

}  // namespace ring::comm
