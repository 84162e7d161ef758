// SPDX-License-Identifier: Apache-2.0
#include "disk_state.h"

#include <algorithm>
#include <cerrno>

#include "shoal/base/path_error.h"

namespace shoal::testing {
namespace {

Error simulated_error(const DiskCall& call) {
  return unavailable(path_error(call.verb, call.path, EIO).message() + " (simulated fault)");
}

/// True if a fault happens, by chance. A kind of fault with probability 0 draws no random number.
bool happens(RandomStream& random, double probability) {
  return probability > 0 && double(random.next_float()) < probability;
}

}  // namespace

DiskState::DiskState(SimulatedDiskOptions disk_options)
    : options(std::move(disk_options)), errors_(0), fulls_(0), flips_(0), delays_(0) {
  for (const std::string& folder : options.folders) add_folder(folder);
}

void DiskState::add_folder(const std::string& path) {
  SHOAL_CHECK(tree.make_folders(path, now()) == 0);
  std::string reached = "/";
  for (const std::string& part : FileTree::parts_of(path)) {
    SHOAL_CHECK(tree.sync_folder(reached) == 0);
    reached += part + "/";
  }
}

void DiskState::set_faults(DiskFaults chosen) {
  faults = std::move(chosen);
  errors_ = RandomStream(fold_in(faults.seed, "error"));
  fulls_ = RandomStream(fold_in(faults.seed, "full"));
  flips_ = RandomStream(fold_in(faults.seed, "bit flip"));
  delays_ = RandomStream(fold_in(faults.seed, "slow"));
  full_writes_left_ = 0;
}

Fault DiskState::scripted(const DiskCall& call, bool& half) {
  if (call.kind == DiskCall::Kind::kRead) return Fault::kNone;
  const int64_t number = calls++;
  half = number == fault_call;
  switch (fault) {
    case Fault::kNone: break;
    case Fault::kError:
    case Fault::kErrorAfterEffect: return number == fault_call ? fault : Fault::kNone;
    case Fault::kCrash: return number >= fault_call ? fault : Fault::kNone;
    case Fault::kDiskFull: return number >= fault_call && call.kind == DiskCall::Kind::kWrite ? fault : Fault::kNone;
  }
  return Fault::kNone;
}

Fault DiskState::drawn(const DiskCall& call) {
  // Draws from both random sequences, that for errors and that for a full disk, before it chooses one of the two faults. So
  // the results of one sequence do not change how many numbers are drawn from the other.
  const bool error = happens(errors_, faults.error);
  const bool after_effect = error && errors_.below(2) == 0;
  const bool full = call.kind == DiskCall::Kind::kWrite && draw_full();
  if (error) return after_effect ? Fault::kErrorAfterEffect : Fault::kError;
  return full ? Fault::kDiskFull : Fault::kNone;
}

bool DiskState::draw_full() {
  if (full_writes_left_ == 0 && happens(fulls_, faults.full)) {
    full_writes_left_ = 1 + int64_t(fulls_.below(uint64_t(std::max<int64_t>(1, faults.full_writes_max))));
  }
  if (full_writes_left_ == 0) return false;
  --full_writes_left_;
  return true;
}

void DiskState::draw_delay(DiskLink& link) {
  if (!happens(delays_, faults.slow)) return;
  ++counts.slow;
  link.delay += Duration(1 + int64_t(delays_.below(uint64_t(std::max<int64_t>(1, faults.slow_max.count())))));
}

Result<void> DiskState::perform(DiskLink& link, const DiskCall& call, const Effect& effect) {
  if (link.cut_off) {
    ++counts.cut_off;
    return path_error(call.verb, call.path, EIO);
  }
  draw_delay(link);
  bool half = false;
  Fault met = scripted(call, half);
  if (met == Fault::kNone) met = drawn(call);
  switch (met) {
    case Fault::kNone: break;
    case Fault::kError: ++counts.error; return simulated_error(call);
    case Fault::kErrorAfterEffect:
      ++counts.error;
      effect(false);
      return simulated_error(call);
    case Fault::kCrash:
      if (half) effect(true);
      return simulated_error(call);
    case Fault::kDiskFull: ++counts.full; return path_error(call.verb, call.path, ENOSPC);
  }
  if (const int number = effect(false); number != 0) {
    counts.full += number == ENOSPC;
    return path_error(call.verb, call.path, number);
  }
  return {};
}

Result<void> DiskState::write(DiskLink& link, const std::string& path, FileNode& file, size_t offset,
                              std::string_view bytes) {
  const Effect effect = [&](bool half) {
    const uint64_t used = options.capacity_bytes == ~uint64_t(0) ? 0 : tree.used_bytes();
    const uint64_t room = options.capacity_bytes - std::min(options.capacity_bytes, used);
    const size_t count = half ? bytes.size() / 2 : size_t(std::min<uint64_t>(bytes.size(), room));
    file.write(offset, bytes.substr(0, count));
    file.modified = now();
    return half || count == bytes.size() ? 0 : ENOSPC;
  };
  const std::optional<uint64_t> bit = draw_flip(bytes.size());
  SHOAL_TRY_VOID(perform(link, {DiskCall::Kind::kWrite, "write", path}, effect));
  if (!bit || (faults.flips_in && !faults.flips_in(path))) return {};
  ++counts.bit_flip;
  flipped.insert(path);
  char& byte = file.contents[offset + size_t(*bit / 8)];
  byte = char(uint8_t(byte) ^ uint8_t(1u << (*bit % 8)));
  return {};
}

std::optional<uint64_t> DiskState::draw_flip(size_t bytes) {
  if (bytes == 0 || !happens(flips_, faults.bit_flip)) return std::nullopt;
  return flips_.below(uint64_t(bytes) * 8);
}

}  // namespace shoal::testing
