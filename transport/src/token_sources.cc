// Where tokens come from.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shoal/transport/token.h"

namespace shoal::transport {
namespace {

constexpr size_t kFileBytesMax = 1024;

/// Closes a descriptor, whatever way its function is left.
struct OpenFile {
  explicit OpenFile(const char* path) : id(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (id >= 0) ::close(id);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  const int id;
};

/// What the file holds, wiped when it is destroyed.
struct Contents {
  std::array<char, kFileBytesMax + 1> bytes;
  size_t size = 0;
  ~Contents() { explicit_bzero(bytes.data(), bytes.size()); }
};

Result<Token> read_token_file(const std::string& path) {
  const auto failed = [&](const char* what) {
    const int code = errno;
    std::string sentence = "token file " + path + ": " + what + ": " + std::strerror(code);
    return code == ENOENT ? not_found(std::move(sentence)) : unavailable(std::move(sentence));
  };
  const OpenFile file(path.c_str());
  if (file.id < 0) return failed("cannot be opened");
  struct stat status {};
  if (::fstat(file.id, &status) != 0) return failed("cannot be examined");
  if (S_ISDIR(status.st_mode)) return invalid_argument("token file " + path + ": is a folder");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return failed_precondition("token file " + path + ": others than its owner have access to it, and so to the job; " +
                               "chmod 600 " + path + ", and make a new token if anybody may have read this one");
  Contents contents;
  while (contents.size < contents.bytes.size()) {
    const ssize_t got = ::read(file.id, contents.bytes.data() + contents.size, contents.bytes.size() - contents.size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("cannot be read");
    if (got == 0) break;
    contents.size += size_t(got);
  }
  if (contents.size > kFileBytesMax) return invalid_argument("token file " + path + ": is too large to hold a token");
  auto token = Token::parse({contents.bytes.data(), contents.size});
  if (!token) return std::move(token).error().with_context("token file " + path);
  return token;
}

}  // namespace

Result<std::shared_ptr<const Token>> find_token(const TokenSources& sources) {
  std::shared_ptr<const Token> from_file, from_text;
  if (sources.file) {
    SHOAL_TRY(const Token token, read_token_file(*sources.file));
    from_file = std::make_shared<const Token>(token);
  }
  if (sources.text) {
    auto token = Token::parse(*sources.text);
    if (!token) return std::move(token).error().with_context("SHOAL_TOKEN");
    from_text = std::make_shared<const Token>(*token);
  }
  if (from_file && from_text && !std::ranges::equal(from_file->secret(), from_text->secret()))
    return invalid_argument("token file " + *sources.file +
                            " and SHOAL_TOKEN hold different tokens; leave one of them out");
  return from_file ? from_file : from_text;
}

}  // namespace shoal::transport
