// Two ends of a handshake and somebody between them who passes on, cuts, changes and repeats what they say.
// Only ends that heard exactly what the other said may be proven; foreign words prove nobody.
#include <algorithm>  // for min
#include <cstdlib>    // for abort

#include "ring/transport/handshake/conversation.h"

namespace {

using namespace ring::transport;
using State = Conversation::State;

struct End {
  Conversation talk;
  std::string said;   // all it ever said
  std::string heard;  // all it was given
  std::size_t passed = 0;
};

void give(End& to, const std::string& text) {
  const std::size_t count = std::min(text.size(), to.talk.wanted());
  if (count == 0) return;
  to.talk.take({text.data(), count});
  to.heard += text.substr(0, count);
}

// One deed: what to do, and how much or where.
void act(unsigned char deed, unsigned char amount, End& from, End& to) {
  from.said += from.talk.take_output();
  std::string text = from.said.substr(std::min(from.passed, from.said.size()), 1U + amount);
  switch (deed % 5) {
    case 0:  // pass on as it is
    case 1:
      text = text.substr(0, to.talk.wanted());
      from.passed += text.size();
      break;
    case 2:  // changed
      if (!text.empty())
        text[amount % text.size()] = static_cast<char>(text[amount % text.size()] ^ (1 + deed));
      from.passed += text.size();
      break;
    case 3:  // from the begin once more
      text = from.said;
      break;
    default:  // its own words, reflected
      text = to.said;
  }
  give(to, text);
}

void check(const End& self, const End& other) {
  if (self.talk.state() == State::kTalking && self.talk.wanted() == 0) std::abort();
  if (self.talk.state() != State::kProven) return;
  // A proof covers both hellos: they must have arrived unchanged, both ways.
  const std::string hello = other.said.substr(0, kHelloBytes);
  if (self.heard.substr(0, kHelloBytes) != hello) std::abort();
  if (other.heard.substr(0, kHelloBytes) != self.said.substr(0, kHelloBytes)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const Identity lower{0, 2, 0, {}, {}};
  const Identity higher{1, 2, 0, {}, {}};
  auto connecting = Conversation::connecting(higher, {0, Channel::kTcpControl, 1});
  auto accepting = Conversation::accepting(lower);
  if (!connecting || !accepting) return 0;
  End connector{std::move(connecting).value(), {}, {}};
  End acceptor{std::move(accepting).value(), {}, {}};
  for (std::size_t at = 0; at + 1 < size; at += 2) {
    const bool forth = (data[at] & 0x80) != 0;
    End& from = forth ? connector : acceptor;
    End& to = forth ? acceptor : connector;
    act(data[at] & 0x7f, data[at + 1], from, to);
    to.said += to.talk.take_output();
    check(connector, acceptor);
    check(acceptor, connector);
  }
  return 0;
}
