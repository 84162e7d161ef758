// SPDX-License-Identifier: Apache-2.0
#include "transports.h"

#include <utility>

namespace shoal {

Result<transport::Transport*> Transports::get(std::string_view scheme, Environment& env) {
  std::lock_guard lock(mutex_);
  if (const auto found = made_.find(scheme); found != made_.end()) return found->second.get();
  const auto row = table_.find(scheme);
  if (row == table_.end()) {
    std::string sentence = "no transport \"" + std::string(scheme) + "\" in this build; there ";
    sentence += table_.empty() ? "are none" : table_.size() == 1 ? "is" : "are";
    const char* separator = " ";
    for (const auto& [name, factory] : table_) sentence += std::exchange(separator, ", ") + name;
    return not_found(std::move(sentence));
  }
  const std::string called = "transport \"" + row->first + "\"";
  SHOAL_TRY(std::shared_ptr<transport::Transport> made,
            call_user("the function that makes " + called, [&] { return row->second(env); }));
  if (!made) return failed_precondition(called + ": the function that makes it returned null");
  return made_.emplace(row->first, std::move(made)).first->second.get();
}

void Transports::clear() {
  std::unique_lock lock(mutex_);
  const auto ending = std::exchange(made_, {});
  lock.unlock();  // The lock is released before `ending` is destroyed: a transport's destructor may call this object.
}

}  // namespace shoal
