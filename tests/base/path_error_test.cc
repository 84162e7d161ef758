// SPDX-License-Identifier: Apache-2.0
// Sentences about texts that are no path, and about calls that the system refused.
#include "shoal/base/path_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>

#include "shoal/base/storage.h"

namespace shoal {
namespace {

using testing::HasSubstr;

TEST(CheckPath, PathsAreFine) {
  for (const char* path :
       {"m", "/data/m", "a/b/../c", "./gs://b", "m~", "~m", "a:b", "http:", "x//y", "1gs://b", "a b://c", ""}) {
    const Result<void> checked = check_path(path);
    EXPECT_TRUE(checked) << path << ": " << checked.error().message();
  }
}

TEST(CheckPath, AnAddressIsNoPath) {
  for (const char* path :
       {"gs://bucket/m", "s3://bucket/m", "hdfs://name:8020/m", "HTTPS://host/m", "gs://", "abfs+x://c"}) {
    const Result<void> checked = check_path(path);
    ASSERT_FALSE(checked) << path;
    EXPECT_EQ(checked.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(checked.error().message(), testing::AllOf(HasSubstr(std::string(path) + ": "), HasSubstr("mount")));
  }
}

TEST(CheckPath, OfAFileAddressThePathIsSaid) {
  EXPECT_THAT(check_path("file:///data/m").error().message(), HasSubstr("write /data/m"));
  EXPECT_THAT(check_path("file://localhost/data/m").error().message(), HasSubstr("write /data/m"));
}

TEST(CheckPath, ATildeThatNoShellReplaced) {
  for (const char* path : {"~", "~/m"}) {
    const Result<void> checked = check_path(path);
    ASSERT_FALSE(checked) << path;
    EXPECT_EQ(checked.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(checked.error().message(), HasSubstr("write $HOME" + std::string(path).substr(1)));
  }
}

/// No folder of the name "gs:" comes of it, whoever forgot to ask.
TEST(CheckPath, FilesAreMadeAndReadAtPathsOnly) {
  const auto storage = make_file_storage();
  const std::string path = "gs://bucket/m";
  const auto refused = [](const auto& result) { return !result && result.error().kind() == ErrorKind::kInvalidArgument; };
  EXPECT_TRUE(refused(storage->create(path)));
  EXPECT_TRUE(refused(storage->append(path)));
  EXPECT_TRUE(refused(storage->open(path)));
  EXPECT_TRUE(refused(storage->make_folders(path)));
  EXPECT_TRUE(refused(storage->list(path)));
  EXPECT_TRUE(refused(storage->lock(path, "")));
  EXPECT_TRUE(refused(storage->remove_all(path)));
  EXPECT_TRUE(refused(storage->write_atomically(path, "x")));
  EXPECT_TRUE(refused(storage->read_all("~/m")));
  EXPECT_FALSE(storage->exists("gs:"));
}

TEST(PathError, ALimitIsNamed) {
  const Error many = path_error("open", "m/x", EMFILE);
  EXPECT_EQ(many.kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(many.message(), testing::AllOf(HasSubstr("cannot open m/x: Too many open files"), HasSubstr("ulimit -n")));
  EXPECT_THAT(path_error("open", "m/x", ENFILE).message(), HasSubstr("fs.file-max"));
  EXPECT_THAT(path_error("write", "m/x", ENOSPC).message(), HasSubstr("free some space"));
  EXPECT_THAT(path_error("write", "m/x", EFBIG).message(), HasSubstr("ulimit -f"));
}

TEST(PathError, TellsAFullDiskFromOneThatMayOnlyBeReadAndFromOneThatIsAway) {
  EXPECT_EQ(path_error("write", "m/x", EDQUOT).with_context("m").system_error(), EDQUOT);
  EXPECT_EQ(failed_precondition("no").system_error(), 0);
  for (const int number : {ENOSPC, EDQUOT, EFBIG}) EXPECT_TRUE(is_full(path_error("write", "m/x", number)));
  for (const int number : {EROFS, EACCES, EPERM, ENOTDIR}) {
    EXPECT_FALSE(is_full(path_error("write", "m/x", number)));
    EXPECT_TRUE(is_unwritable(path_error("write", "m/x", number)));
  }
  for (const int number : {EIO, ESTALE, EMFILE, ENOENT}) EXPECT_FALSE(is_unwritable(path_error("write", "m/x", number)));
}

}  // namespace
}  // namespace shoal
