#include "ring/transport/meeting/rollcall.h"

#include <utility>  // for move

namespace ring::transport {

Rollcall::Rollcall(const Context& context)
    : context_(context),
      shares_(context.topology.local_size() > 1),
      local_parent_(context.topology.local_index() == 0 ? -1 : plan::tree_parent(context.topology)),
      parent_(plan::tree_parent(context.topology)),
      children_(plan::tree_children(context.topology)) {
  for (const int child : children_) {
    const auto& host_of = context.topology.host_of;
    if (host_of[static_cast<std::size_t>(child)] == context.topology.host()) unserved_.push_back(child);
  }
}

Status Rollcall::advance(Gathering& gathering) {
  if (shares_ && !segment_) RING_TRY(find_segment(gathering));
  if (segment_) RING_TRY(hand_down(gathering));
  if (!is_ready_ && all_below_have_met(gathering)) {
    is_ready_ = true;
    if (parent_ >= 0) gathering.lifeline(parent_)->send(encode_word(FrameKind::kReady));
  }
  if (!is_ready_ || may_go_) return {};
  may_go_ = parent_ < 0 || gathering.lifeline(parent_)->may_go();
  if (!may_go_) return {};
  for (const int child : children_) gathering.lifeline(child)->send(encode_word(FrameKind::kGo));
  return {};
}

int Rollcall::waits_for(Gathering& gathering) const {
  for (const int child : children_) {
    if (!gathering.lifeline(child) || !gathering.lifeline(child)->is_ready()) return child;
  }
  return may_go_ ? -1 : parent_;
}

Status Rollcall::find_segment(Gathering& gathering) {
  // Not before all neighbours have come, so that a failure reaches them as one.
  if (!gathering.missing().empty()) return {};
  if (local_parent_ < 0) {
    shm::SegmentOptions options = context_.segment;
    options.local_size = context_.topology.local_size();
    auto created = shm::Segment::create(options);
    if (!created) return no_memory(created.status());
    segment_ = std::move(created).value();
    return {};
  }
  Lifeline* parent = gathering.lifeline(local_parent_);
  UniqueFd descriptor = parent == nullptr ? UniqueFd() : parent->take_segment();
  if (!descriptor.valid()) return {};
  auto mapped = shm::Segment::map(std::move(descriptor));
  if (!mapped) return no_memory(mapped.status());
  segment_ = std::move(mapped).value();
  return {};
}

Status Rollcall::hand_down(Gathering& gathering) {
  for (auto child = unserved_.begin(); child != unserved_.end();) {
    Lifeline* lifeline = gathering.lifeline(*child);
    if (lifeline == nullptr) {
      ++child;
      continue;
    }
    // An end of the peer shows in its lifeline, with the cause.
    const Status sent = lifeline->send_with(FrameKind::kSegment, segment_->fd());
    if (!sent && lifeline->check().is_ok()) return no_memory(sent);
    child = unserved_.erase(child);
  }
  return {};
}

Status Rollcall::no_memory(const Status& why) const {
  const int self = context_.self.rank;
  return Status(why.code(),
                context_.name_of(self) + " cannot share memory with the " +
                    std::to_string(context_.topology.local_size()) +
                    " ranks of its host; transport=tcp does without: " + why.message(),
                self, context_.host_of(self));
}

bool Rollcall::all_below_have_met(Gathering& gathering) const {
  if (!gathering.missing().empty() || (shares_ && !segment_) || !unserved_.empty()) return false;
  for (const int child : children_) {
    if (!gathering.lifeline(child)->is_ready()) return false;
  }
  return true;
}

}  // namespace ring::transport
