// SPDX-License-Identifier: Apache-2.0
// Files of text that were changed after a position in them was saved: the position is refused, so that a training begins
// its input anew (CONTRACT.md, DS-22), rather than going on in the middle of a row.
#include <gmock/gmock.h>

#include "collecting.h"
#include "shoal/base/memory_storage.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;

std::string text_of(const Element& element) {
  std::string text;
  for (const auto& [name, tensor] : element.features) {
    text += tensor.dtype() == DType::kInt64 ? std::to_string(tensor.as<int64_t>()[0]) : tensor.strings()[0];
  }
  return text;
}

class ChangedFiles : public ::testing::TestWithParam<const char*> {
 protected:
  /// The ids of a file with one row for each, in the format of this test.
  Dataset dataset() const {
    const std::string format = GetParam();
    if (format == "Csv")
      return Dataset::csv({"t"}, {.columns = {{"id", DType::kInt64}, {"x"}}, .unused = {"x"}, .header_lines = 1});
    if (format == "Json") return Dataset::json_lines({"t"}, {.fields = {{.name = "id", .dtype = DType::kInt64}}});
    return Dataset::text_lines({"t"}, {.header_lines = 1});
  }
  static std::string row(int id, const std::string& x = "-") {
    const std::string format = GetParam(), number = std::to_string(id);
    if (format == "Csv") return number + "," + x + "\n";
    if (format == "Json") return "{\"id\":" + number + ",\"x\":\"" + x + "\"}\n";
    return number + (x == "-" ? "" : " " + x) + "\n";
  }
  static std::string header() { return GetParam() == std::string("Json") ? "" : "id,x\n"; }
  static std::string rows(int begin, int end) {
    std::string text = begin == kFirst ? header() : "";
    for (int id = begin; id < end; ++id) text += row(id);
    return text;
  }
  void write(const std::string& text) { value_or_raise(storage_->write_atomically("t", text)); }
  /// The position behind the rows kFirst to `last` of a file.
  Position position_behind(const Dataset& dataset, int last, const std::string& text) {
    write(text);
    const auto iterator = open(dataset, env_);
    Element element;
    for (int id = kFirst; id <= last; ++id) EXPECT_TRUE(value_or_raise(iterator->next(element)));
    return value_or_raise(iterator->save());
  }
  /// What comes behind `position` in a file with this text: the first element, or the error of restore().
  std::string next_in(const std::string& text, const Position& position) {
    write(text);
    const auto iterator = open(dataset(), env_);
    if (const Result<void> restored = iterator->restore(position); !restored) {
      EXPECT_EQ(restored.error().kind(), ErrorKind::kFailedPrecondition);
      Element first;
      EXPECT_TRUE(value_or_raise(iterator->next(first)));  // The iterator begins at the file's start.
      return restored.error().message();
    }
    Element element;
    return value_or_raise(iterator->next(element)) ? text_of(element) : "end";
  }

  static constexpr int kFirst = 1000, kEnd = 25000;
  std::shared_ptr<Storage> storage_ = make_memory_storage();
  VirtualWorld world_{7};
  Environment& env_ = world_.add_task({.storage = storage_});
};

TEST_P(ChangedFiles, AreRefusedWhereTheTextBeforeThePositionIsAnother) {
  const std::string text = rows(kFirst, kEnd);
  for (const int last : {1004, 1900, 20000}) {  // Before the last one there is more than one buffer holds.
    SCOPED_TRACE(last);
    const Position position = position_behind(dataset(), last, text);
    const std::string before = rows(kFirst, last + 1), behind = rows(last + 1, kEnd);
    EXPECT_EQ(next_in(text, position), std::to_string(last + 1));
    EXPECT_EQ(next_in(before + behind + row(kEnd), position), std::to_string(last + 1));  // Rows may be appended.
    const auto expect_refused = [&](const std::string& changed) {
      const std::string message = next_in(changed, position);
      EXPECT_THAT(message, HasSubstr("t, line " + std::to_string(last - kFirst + 2 + !header().empty()) + " (offset " +
                                     std::to_string(before.size()) + "): the file was changed after this input position"));
      return message;
    };
    EXPECT_THAT(expect_refused(header() + row(999) + rows(kFirst + 1, kFirst + 2) + rows(kFirst + 1, kEnd)),
                HasSubstr("another"));
    EXPECT_THAT(expect_refused(header() + rows(kFirst + 1, kEnd)), HasSubstr("another"));
    EXPECT_THAT(expect_refused(rows(kFirst, last) + row(last, "7") + behind), HasSubstr("another"));
    EXPECT_THAT(expect_refused(rows(kFirst, last) + row(9999) + behind), HasSubstr("another"));
    EXPECT_THAT(expect_refused(before.substr(0, before.size() - 3)), HasSubstr("it has only"));
    EXPECT_THAT(expect_refused(before.substr(0, before.size() - 1) + "7\n" + behind), HasSubstr("another"));
  }
}

/// Such an edit moves no row, so the rows behind the position are those that would have come.
TEST_P(ChangedFiles, GoOnWhereAnEditFarBackKeepsTheLength) {
  const std::string text = rows(kFirst, 3000);
  const Position position = position_behind(dataset(), 2500, text);
  EXPECT_EQ(next_in(header() + row(1001) + rows(kFirst + 1, 3000), position), "2501");
}

TEST_P(ChangedFiles, AreRefusedWhereTheirLastRowGrew) {
  std::string text = rows(kFirst, 1005);
  text.pop_back();  // The last row has no line end.
  const Position position = position_behind(dataset(), 1004, text);
  EXPECT_EQ(next_in(text, position), "end");
  EXPECT_THAT(next_in(text + "7\n" + row(1006), position), HasSubstr("no line ends there"));
}

TEST_P(ChangedFiles, AreRefusedBehindAShuffle) {
  const Dataset shuffled = dataset().shuffle(8, {.seed = 1});
  const std::string text = rows(kFirst, 4000);
  const Position position = position_behind(shuffled, 2500, text);
  EXPECT_TRUE(open(shuffled, env_)->restore(position));
  write(header() + row(999) + rows(kFirst + 1, kFirst + 2) + rows(kFirst + 1, 4000));
  EXPECT_EQ(open(shuffled, env_)->restore(position).error().kind(), ErrorKind::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(, ChangedFiles, ::testing::Values("Text", "Csv", "Json"),
                         [](const auto& format) { return format.param; });

/// Positions that versions before 2026-12-01 saved, without a hash.
class OldPositions : public ::testing::Test {
 protected:
  static Dataset csv() {
    return Dataset::csv({"t.csv"},
                        {.columns = {{"id", DType::kInt64}, {"x", DType::kInt64}}, .labels = {"x"}, .header_lines = 1});
  }
  /// The id that follows after `state`, or the error of restore().
  std::string next(const Dataset& dataset, std::string state, const std::string& text) {
    value_or_raise(storage_->write_atomically("t.csv", text));
    const auto iterator = open(dataset, env_);
    const Result<void> restored = iterator->restore({.ordinal = 2, .state = std::move(state)});
    if (!restored) return restored.error().message();
    Element element;
    return value_or_raise(iterator->next(element)) ? text_of(element) : "end";
  }
  std::shared_ptr<Storage> storage_ = make_memory_storage();
  VirtualWorld world_{7};
  Environment& env_ = world_.add_task({.storage = storage_});
};

TEST_F(OldPositions, GoOnLoading) {
  const std::string text = "id,x\n1,10\n2,20\n3,30\n4,40\n";
  const std::string begin("\x01\xf0\xe4\xa2\x85\xd1\xb5\xc6\x99\x0e\x00\x00\x00\x00\x01\x58\x77\x86\xc8\x86\xde\x2e\x4e",
                          23);
  const std::string two("\x01\xf0\xe4\xa2\x85\xd1\xb5\xc6\x99\x0e\x00\x00\x01\x0f\x04\x1f\x99\x7b\x99\xb4\xaa\xe0\x0a", 23);
  const std::string end("\x01\xf0\xe4\xa2\x85\xd1\xb5\xc6\x99\x0e\x01\x01\x00\x00\x01\x4b\xc6\x84\x33\xab\x54\xaf\x1c", 23);
  EXPECT_EQ(next(csv(), begin, text), "1");
  EXPECT_EQ(next(csv(), two, text), "3");
  EXPECT_EQ(next(csv(), end, text), "end");
  const std::string line("\x01\x9c\xbf\x85\xd0\xac\x87\xac\x9e\x11\x00\x00\x01\x0a\x03\x80\x47\x0c\xff\x71\x71\xbe\x7d",
                         23);
  EXPECT_EQ(next(Dataset::text_lines({"t.csv"}), line, text), "2,20");
}

TEST_F(OldPositions, AreRefusedInTheMiddleOfARow) {
  const std::string two("\x01\xf0\xe4\xa2\x85\xd1\xb5\xc6\x99\x0e\x00\x00\x01\x0f\x04\x1f\x99\x7b\x99\xb4\xaa\xe0\x0a", 23);
  EXPECT_THAT(next(csv(), two, "id,x\n1,1\n2,20\n3,30\n4,40\n"), HasSubstr("no line ends there"));
  EXPECT_THAT(next(csv(), two, "id,x\n1,10\n"), HasSubstr("it has only 10 bytes"));
}

}  // namespace
}  // namespace shoal::data
