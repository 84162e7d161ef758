#include "fixture.h"

namespace shoal::cli {
namespace {

using ::testing::HasSubstr;
using testing::Json;
using testing::Output;
using testing::shoal_program;

using ExportCommand = testing::InFolder;

TEST_F(ExportCommand, ListsFoldersOfTenDigits) {
  write("1700000000/export.json", R"({"global_step": 200, "more": [1]})");
  write("1700000100/export.json", R"({"global_step": 300})");
  write("170000000/export.json", R"({"global_step": 1})");
  write("17000000000/export.json", R"({"global_step": 2})");
  write("temp-1700000200/export.json", R"({"global_step": 3})");
  write("1700000300", "a file");
  const std::string before = everything();
  const Output run = shoal_program({"export", "list", folder});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.json(), (Json{{"directory", folder},
                              {"exports", {{{"path", folder + "/1700000000"}, {"timestamp", 1700000000}, {"global_step", 200}},
                                           {{"path", folder + "/1700000100"}, {"timestamp", 1700000100}, {"global_step", 300}}}}}));
  EXPECT_EQ(everything(), before);
}

TEST_F(ExportCommand, ListsAnEmptyFolder) {
  const Output run = shoal_program({"export", "list", folder});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.json()["exports"], Json::array());
}

TEST_F(ExportCommand, DamageIsToldAndEndsWithFour) {
  write("1700000000/graph.json", "{}");
  write("1700000100/export.json", "{\"global_step\": ");
  write("1700000200/export.json", "{\"global_step\": \"many\"}");
  write("1700000300/export.json", "{\"global_step\": 7}");
  const Output run = shoal_program({"export", "list", folder});
  EXPECT_EQ(run.status, 4);
  const Json exports = run.json()["exports"];
  ASSERT_EQ(exports.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(exports[i]["global_step"], nullptr);
    EXPECT_TRUE(exports[i].contains("damage"));
    EXPECT_THAT(run.err, HasSubstr("1700000" + std::to_string(i) + "00/export.json"));
  }
  EXPECT_EQ(exports[3]["global_step"], 7);
}

TEST_F(ExportCommand, ReadsADescriptionThatNestsDeeply) {
  write("1700000000/export.json",
        R"({"a":)" + std::string(500000, '[') + std::string(500000, ']') + R"(,"b":1,"c":2,"global_step":200})");
  const Output run = shoal_program({"export", "list", folder});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.json()["exports"][0]["global_step"], 200);
}

TEST_F(ExportCommand, AMissingFolderIsAnError) {
  EXPECT_EQ(shoal_program({"export", "list", folder + "/none"}).status, 2);
}

}  // namespace
}  // namespace shoal::cli
