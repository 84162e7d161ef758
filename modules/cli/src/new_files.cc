// SPDX-License-Identifier: Apache-2.0
#include "new_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "shoal/base/exhaustion.h"
#include "shoal/base/path_error.h"

namespace shoal::cli {
namespace {

Result<void> write_new_file(const NewFile& file) {
  SHOAL_TRY_VOID(check_path(file.path));
  const mode_t mode = file.secret ? S_IRUSR | S_IWUSR : S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
  const int id = ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (id < 0) {
    const int number = errno;
    const std::string sentence = file.path + ": cannot be made: " + system_error_text(number);
    return number == EEXIST ? failed_precondition(sentence + "; nothing was changed") : unavailable(sentence);
  }
  const bool written = ::write(id, file.text.data(), file.text.size()) == ssize_t(file.text.size());
  if (::close(id) == 0 && written) return {};
  ::unlink(file.path.c_str());
  return unavailable(file.path + ": cannot be written; is the disk full?");
}

}  // namespace

Result<void> write_new_files(const std::vector<NewFile>& files) {
  for (size_t i = 0; i < files.size(); ++i) {
    if (auto written = write_new_file(files[i]); !written) {
      while (i-- > 0) ::unlink(files[i].path.c_str());
      return written;
    }
  }
  return {};
}

Result<void> write_new_files(const std::string& folder, std::vector<NewFile> files) {
  for (NewFile& file : files) file.path = folder + "/" + file.path;
  const bool made = ::mkdir(folder.c_str(), S_IRWXU) == 0;
  // If what exists already is no folder, writing the files into it fails.
  if (!made && errno != EEXIST) return unavailable(folder + ": cannot be made: " + system_error_text(errno));
  Result<void> written = write_new_files(files);
  if (!written && made) ::rmdir(folder.c_str());
  return written;
}

}  // namespace shoal::cli
