// Group: the ranks of one NCCL communicator, seen by one of them. Calls are non-blocking inside NCCL and
// waited for here with a deadline. Thread-safety: one caller at a time; async_error and abort from any thread
// meanwhile.
#pragma once

#include <functional>  // for function
#include <memory>      // for shared_ptr, unique_ptr
#include <mutex>       // for mutex
#include <string>      // for string
#include <utility>     // for move

#include "ring/base/deadline.h"
#include "ring/base/status.h"
#include "ring/nccl/abi.h"
#include "ring/nccl/errors.h"
#include "ring/nccl/handles.h"
#include "ring/nccl/library.h"

namespace ring::nccl {

// Asked while waiting; not ok: give up, and that is why.
using Stop = std::function<Status()>;

struct Place {
  std::shared_ptr<const Library> library;
  DevicePtr device;
  Site site;
  int size = 1;
};

class Group {
 public:
  // What NCCL makes of a call: its status for people, and whether it only repeats another rank's failure.
  struct Fault {
    Status status;
    bool echo = false;
  };

  [[nodiscard]] static Result<UniqueId> make_id(const Place& place);
  // Meets the other ranks. kRendezvousTimeout when they do not come.
  [[nodiscard]] static Result<std::unique_ptr<Group>> connect(const Place& place, const UniqueId& id,
                                                              Deadline deadline, const Stop& stop);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();  // abort

  [[nodiscard]] const Place& place() const noexcept { return place_; }
  [[nodiscard]] bool can_split() const noexcept { return place_.library->api().split != nullptr; }

  // Makes `calls` as one NCCL group and waits until all of it is queued on the device.
  using Calls = std::function<Outcome(const Api&, Comm)>;
  [[nodiscard]] Fault launch(const std::string& what, Deadline deadline, const Calls& calls);
  // A call outside of any NCCL group that is done when it returns.
  [[nodiscard]] Status call(const std::string& what, const Calls& calls);
  // What NCCL has met in the background since.
  [[nodiscard]] Fault async_error();

  // All ranks call it. Those of one color become a group, ordered by key; null for a color below 0.
  [[nodiscard]] Result<std::unique_ptr<Group>> split(int color, int key, int rank, int size,
                                                     Deadline deadline, const Stop& stop);

  // Ends what is queued on the device, here only; peers notice late or never. Again: does nothing.
  void abort() noexcept;
  // Leaves in order, after what is queued; abort when it fails.
  [[nodiscard]] Status finish(Deadline deadline, const Stop& stop);

 private:
  Group(Place place, Comm comm) : place_(std::move(place)), comm_(comm) {}
  [[nodiscard]] Fault settle(const std::string& what, Outcome outcome, Deadline deadline, const Stop& stop);
  [[nodiscard]] Fault fault(const std::string& what, Outcome outcome);
  [[nodiscard]] Outcome poll();

  Place place_;
  std::mutex mutex_;
  Comm comm_;
};

}  // namespace ring::nccl
