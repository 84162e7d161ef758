#include <sys/stat.h>

#include "fixture.h"
#include "shoal/transport/token.h"

namespace shoal::cli {
namespace {

using ::testing::HasSubstr;
using testing::Output;
using testing::shoal_program;

class KeysCommand : public testing::InFolder {};

TEST_F(KeysCommand, PrintsAFreshToken) {
  const Output run = shoal_program({"keys", "token"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(run.out.ends_with("\n"));
  EXPECT_TRUE(transport::Token::parse(run.out));
  EXPECT_NE(shoal_program({"keys", "token"}).out, run.out);
}

TEST_F(KeysCommand, WritesAFileThatIsAccepted) {
  const std::string path = folder + "/token";
  const Output run = shoal_program({"keys", "token", "--out", path});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_TRUE(transport::find_token({.file = path}));
  const std::string before = read("token");
  const Output again = shoal_program({"keys", "token", "--out", path});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("nothing was changed"));
  EXPECT_EQ(read("token"), before);
  EXPECT_EQ(shoal_program({"keys", "token", "--out", folder + "/none/token"}).status, 1);
}

TEST_F(KeysCommand, SaysWhatItCanMake) {
  EXPECT_EQ(shoal_program({"keys"}).status, 2);
  EXPECT_THAT(shoal_program({"keys", "--help"}).out, HasSubstr("token"));
}

}  // namespace
}  // namespace shoal::cli
