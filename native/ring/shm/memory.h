// Memory without a name: how it is had, reserved, given back. Functions without state; any thread.
#pragma once

#include <cstddef>  // for byte
#include <cstdint>  // for uint64_t
#include <string>   // for string

#include "ring/base/status.h"
#include "ring/base/unique_fd.h"

namespace ring::shm {

// A sparse file of `bytes`: a sealed memfd, or where none can be had a file without a name in `folder`
// (empty: none). kSystem with both reasons.
[[nodiscard]] Result<UniqueFd> create_memory(std::uint64_t bytes, const std::string& folder);

// Refuses what its maker could still shrink, which would be a bus error later. Gives the size.
[[nodiscard]] Result<std::uint64_t> check_memory(int fd);

// Maps all of it; no page is taken. kSystem.
[[nodiscard]] Result<std::byte*> map_memory(int fd, std::uint64_t bytes);

// Takes the pages [offset, offset + bytes) so that touching them cannot fail, and maps them into this process
// where the kernel can. kSystem says how much was asked for.
[[nodiscard]] Status reserve(int fd, std::byte* base, std::uint64_t offset, std::uint64_t bytes, bool huge);

// Gives the pages back; they read as zeros from then on.
void discard(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;

// Maps pages that a peer has reserved, so that no fault comes later. Best effort.
void populate(std::byte* memory, std::uint64_t bytes) noexcept;

// Whether the kernel gives huge pages to shared memory that asks for them.
[[nodiscard]] bool huge_pages_allowed();

}  // namespace ring::shm
