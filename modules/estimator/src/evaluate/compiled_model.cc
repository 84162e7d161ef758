// SPDX-License-Identifier: Apache-2.0
#include "evaluate/compiled_model.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "shoal/base/exhaustion.h"
#include "shoal/base/split_text.h"

extern char** environ;

namespace shoal {
namespace {

constexpr char kSecondsMax[] = "600";
constexpr int kTimedOut = 124;  // The exit status of the program `timeout` if it has ended the command.
constexpr size_t kMessageMax = 2000;

/// Runs a command to its end, without input, and writes its output to the file `said`. Returns its exit status.
Result<int> run_command(std::vector<std::string> command, const std::string& said) {
  command.insert(command.begin(), {"timeout", kSecondsMax});
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
  posix_spawn_file_actions_addopen(&actions, 1, said.c_str(), 01101, 0600);  // The flags 01101: write, create, truncate.
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed_precondition("the program timeout cannot be started: " + no_thread_text(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return internal_error("waitpid: " + system_error_text(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string c_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float";
    case DType::kInt32: return "std::int32_t";
    case DType::kInt64: return "std::int64_t";
    case DType::kUInt8: return "std::uint8_t";
    default: return "bool";
  }
}

/// Returns C++ code: a function that reads examples, calls `function` for each example, and writes the results. `number`
/// is the index of `function` among the model's functions, and part of the names in the code.
std::string caller_of(const convert::CppFunction& function, size_t number) {
  std::string buffers, reads, arguments, writes;
  const auto add = [&](const convert::CppPort& port, const std::string& name) {
    buffers += "  static " + c_type(port.dtype) + " " + name + "[" + std::to_string(port.elements) + "];\n";
    arguments += (arguments.empty() ? "" : ", ") + name;
  };
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    add(function.inputs[i], name);
    reads += (i == 0 ? "" : " &&\n         ") + ("std::fread(" + name + ", sizeof " + name + ", 1, in) == 1");
  }
  for (size_t i = 0; i < function.outputs.size(); ++i) {
    const std::string name = "out" + std::to_string(i);
    add(function.outputs[i], name);
    writes += "    std::fwrite(" + name + ", sizeof " + name + ", 1, out);\n";
  }
  return "static int call" + std::to_string(number) + "(std::FILE* in, std::FILE* out) {\n" + buffers + "  while (" +
         reads + ") {\n    if (!model::" + function.name + "(" + arguments + ")) return 3;\n" + writes +
         "  }\n  return 0;\n}\n";
}

std::string main_of(const convert::CppSource& source) {
  std::string text = "#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n\n#include \"model.h\"\n\n", cases;
  for (size_t i = 0; i < source.functions.size(); ++i) {
    text += caller_of(source.functions[i], i);
    cases += "    case " + std::to_string(i) + ": status = call" + std::to_string(i) + "(in, out); break;\n";
  }
  return text +
         "int main(int, char** words) {\n  std::FILE* in = std::fopen(words[2], \"rb\");\n"
         "  std::FILE* out = std::fopen(words[3], \"wb\");\n  if (!in || !out) return 4;\n  int status = 5;\n"
         "  switch (std::atoi(words[1])) {\n" +
         cases + "  }\n  return std::fclose(out) == 0 ? status : 6;\n}\n";
}

/// The words of the environment variable CXX ("ccache g++"), or c++.
std::vector<std::string> compiler_words() {
  const char* const chosen = std::getenv("CXX");
  const std::vector<std::string_view> words = split_at_blanks(chosen ? chosen : "");
  return words.empty() ? std::vector<std::string>{"c++"} : std::vector<std::string>(words.begin(), words.end());
}

bool fuses() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return false;  // Other processors need no compiler option for fused multiply-adds.
#endif
}

}  // namespace

struct CompiledModel::Folder {
  std::shared_ptr<Storage> storage = make_file_storage();
  std::string path;

  ~Folder() {
    if (!path.empty()) static_cast<void>(storage->remove_all(path).has_value());
  }
  std::string at(std::string_view name) const { return join_path(path, name); }
  std::string said() const {
    Result<std::string> text = storage->read_all(at("said"));
    return text ? text->substr(0, kMessageMax) : std::string();
  }
};

std::string CompiledModel::obstacle() {
  std::vector<std::string> command = compiler_words();
  const std::string compiler = command[0];
  command.emplace_back("--version");
  const Result<int> status = run_command(std::move(command), "/dev/null");
  if (status && *status == 0) return "";
  return "the proof of C++ needs a compiler, and " + compiler +
         " cannot be run; set CXX to name one, or leave the proof out";
}

Result<CompiledModel> CompiledModel::make(const convert::CppSource& source, const std::string& temporary_folder) {
  const auto folder = std::make_shared<Folder>();
  Result<std::string> made = folder->storage->make_temporary_folder(join_path(temporary_folder, "shoal-proof-"));
  if (!made) {
    return std::move(made).error().with_context(
        "proof: a folder to compile the exported source in cannot be made (the environment variable TMPDIR names another "
        "place than " +
        temporary_folder + ")");
  }
  folder->path = *std::move(made);
  SHOAL_TRY_VOID(folder->storage->write_atomically(folder->at("model.h"), source.header));
  SHOAL_TRY_VOID(folder->storage->write_atomically(folder->at("model.cc"), source.source));
  SHOAL_TRY_VOID(folder->storage->write_atomically(folder->at("main.cc"), main_of(source)));
  std::vector<std::string> command = compiler_words();
  const std::string compiler = command[0];
  command.insert(command.end(), {"-std=c++17", "-O2"});
  if (fuses()) command.emplace_back("-mfma");
  command.insert(command.end(), {folder->at("model.cc"), folder->at("main.cc"), "-o", folder->at("program")});
  SHOAL_TRY(const int status, run_command(std::move(command), folder->at("said")));
  if (status == kTimedOut) return failed_precondition("proof: " + compiler + " took more than " + kSecondsMax + " seconds");
  if (status != 0) {
    return failed_precondition("proof: " + compiler +
                               " does not compile the exported source (set CXX to name another compiler, " +
                               "or leave the proof out): " + folder->said());
  }
  return CompiledModel(folder);
}

Result<std::string> CompiledModel::run(size_t function, const std::string& inputs) const {
  SHOAL_TRY_VOID(folder_->storage->write_atomically(folder_->at("in"), inputs));
  SHOAL_TRY(const int status,
            run_command({folder_->at("program"), std::to_string(function), folder_->at("in"), folder_->at("out")},
                        folder_->at("said")));
  if (status == 3) return invalid_argument("proof: the exported function refuses one of the held-out examples");
  if (status == kTimedOut)
    return failed_precondition("proof: the exported model took more than " + std::string(kSecondsMax) + " seconds");
  if (status != 0)
    return internal_error("proof: the exported model ended with status " + std::to_string(status) + "; " + folder_->said());
  return folder_->storage->read_all(folder_->at("out"), uint64_t(1) << 31);
}

}  // namespace shoal
