// SPDX-License-Identifier: Apache-2.0
// RunConfig::learned(): values that are made from data, such as vocabularies, are kept in the folder of the run.
#include <algorithm>

#include "shoal/base/blocking.h"
#include "shoal/base/durable_folder.h"
#include "shoal/base/resident_bytes.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/estimator/run_config.h"
#include "shoal/estimator/task_host.h"
#include "shoal/json/exact.h"
#include "shoal/json/fields.h"
#include "task/folder_lock.h"
#include "task/task_network.h"

namespace shoal {
namespace {

/// Calls the user's function, and then returns freed memory to the system. The function may use much memory to read all
/// data, and training does so again on another thread. glibc would not give that thread the memory that was freed here.
Result<std::string> make_value(std::string_view name, const LearnedCalls& calls) {
  Result<std::string> value = call_user("learned(\"" + std::string(name) + "\")", calls.make);
  give_back_freed_memory();
  return value;
}

constexpr uint64_t kBytesMax = uint64_t(1) << 30;
constexpr auto kLookEvery = std::chrono::milliseconds(200);
constexpr auto kTellWaitingEvery = std::chrono::seconds(60);

/// The file of one learned value.
class LearnedFile {
 public:
  LearnedFile(Environment& env, const RunConfig& config, std::string_view name)
      : env_(env), config_(config), name_(name), path_(join_path(folder(), name_ + ".json")) {}

  /// The value in the file, as JSON. Nothing if there is no file.
  Result<std::optional<std::string>> read() const {
    Result<std::string> text = env_.storage().read_all(path_, kBytesMax);
    if (!text && text.error().kind() == ErrorKind::kNotFound) return std::optional<std::string>();
    if (!text) return std::move(text).error();
    const Result<json::Json> object = json::parse_object(*text);
    Result<const json::Json*> value = object ? json::member(*object, "value") : Result<const json::Json*>(object.error());
    if (value) return std::optional((*value)->dump());
    return data_loss(path_ + ": " + value.error().message() +
                     "; delete the file to have it made again from the present data, which may not fit the model");
  }

  /// Logs that the value in the file was made by an earlier start that saved no checkpoint. That start may have failed
  /// because of the data from which it made the value.
  void tell_if_unused() const {
    const auto newest = checkpoint::open_newest(env_.storage(), *config_.model_dir(), nullptr);
    if (!newest || *newest) return;  // A checkpoint exists, or cannot be read, which training reports later.
    env_.log().info("learned " + name_ +
                    " was made by an earlier start, which saved no checkpoint; to have it made again from the present "
                    "data, delete " +
                    path_);
  }

  /// Makes the value under the lock of model_dir, unless another process has just made it.
  Result<std::string> make(const LearnedCalls& calls) const {
    Storage& storage = env_.storage();
    SHOAL_TRY_VOID(make_durable_folder(storage, folder()));
    SHOAL_TRY(const std::unique_ptr<StorageLock> lock, lock_model_dir(env_, *config_.model_dir()));
    SHOAL_TRY(std::optional<std::string> there, read());
    if (there) return std::move(*there);
    SHOAL_TRY(std::string value, make_value(name_, calls));
    SHOAL_TRY_VOID(storage.write_atomically(path_, "{\"version\":1,\"value\":" + value + "}\n"));
    env_.log().info("learned " + name_ + " is kept in " + path_ + ", for all starts of this run");
    return value;
  }

  /// Waits until the chief has written the value to its file. Tasks other than the chief call this.
  Result<std::string> wait() const {
    const Deadline deadline = env_.after(seconds_to_duration(config_.ready_timeout_secs()));
    SteadyTime next_note = env_.now();
    for (;;) {
      SHOAL_TRY(std::optional<std::string> there, read());
      if (there) return std::move(*there);
      const std::string waiting = "waiting for the chief to write " + path_;
      if (env_.interrupted().stop_requested()) return cancelled();
      if (env_.now() >= deadline) {
        return deadline_exceeded(waiting +
                                 ", which did not come; a task whose program calls learned() has to see the model_dir "
                                 "of its chief");
      }
      if (env_.now() >= next_note) {
        env_.log().info(waiting);
        next_note = env_.after(kTellWaitingEvery);
      }
      SHOAL_TRY_VOID(block_until(env_, env_.after(kLookEvery)));
    }
  }

  /// Makes the value again from the present data, and logs what is new in the data. The value in the file stays as it is.
  void tell_news(const std::string& kept, const LearnedCalls& calls) const {
    const Result<std::string> found = make_value(name_, calls);
    if (!found) {
      env_.log().warning("learned " + name_ + ": the data could not be looked at again (" + found.error().message() +
                         "); the run goes on with the kept value in " + path_);
    } else if (const std::string news = calls.news(kept, *found); !news.empty()) {
      env_.log().warning("learned " + name_ + ": the data have " + news + "; the run goes on with the kept value in " +
                         path_);
    }
  }

 private:
  std::string folder() const { return join_path(*config_.model_dir(), "learned"); }

  Environment& env_;
  const RunConfig& config_;
  const std::string name_;
  const std::string path_;
};

Result<void> check_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (!name.empty() && name.size() <= 100 && std::ranges::all_of(name, plain)) return {};
  return invalid_argument("learned: \"" + std::string(name) +
                          "\" cannot be part of a file's name: letters, digits, - and _ can, at most 100");
}

}  // namespace

Result<std::string> RunConfig::learned_text(std::string_view name, const LearnedCalls& calls) const {
  SHOAL_TRY_VOID(check_name(name));
  // Without a model_dir the value cannot be stored. A parameter server stores no value either, and makes it at each call.
  if (!model_dir() || task_type() == cluster::kPsRole) return make_value(name, calls);
  const std::shared_ptr<Environment> env = environment();
  const LearnedFile file(*env, *this, name);
  SHOAL_TRY(std::optional<std::string> there, file.read());
  // A program that predicts (--predict) does not train, so a value that it makes is not kept.
  if (host_of(*this).predict) {
    return there ? Result<std::string>(std::move(*there)) : make_value(name, calls);
  }
  if (!is_chief()) return there ? Result<std::string>(std::move(*there)) : file.wait();
  if (!there) return file.make(calls);
  file.tell_if_unused();
  file.tell_news(*there, calls);
  return std::move(*there);
}

std::shared_ptr<Environment> RunConfig::environment() const { return make_call_environment(*this); }

}  // namespace shoal
