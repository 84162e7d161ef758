// SPDX-License-Identifier: Apache-2.0
/// What the functions of users throw or return as errors says which function it was, and of which element.
#include <gmock/gmock.h>

#include <stdexcept>
#include <system_error>

#include "collecting.h"

namespace shoal::data {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class UserFunctions : public BothEnvironments {
 protected:
  /// The error that ends `dataset`.
  Error error_of(const Dataset& dataset) {
    const auto iterator = open(dataset, env());
    return error_of(*iterator);
  }
  static Error error_of(Iterator& iterator) {
    for (Element batch;;) {
      auto more = iterator.next(batch);
      if (!more) return more.error();
      if (!*more) return internal_error("there was no error");
    }
  }
  /// Lines 2 to 9 have one row each, line 6 one whose text is no number.
  Dataset csv() {
    const std::string path = folder_.write("t.csv", "x,y\n1,a\n2,b\n3,c\n4,d\nfive,e\n6,f\n7,g\n8,h\n");
    return Dataset::csv({path}, {.columns = {{"x"}, {"y"}}, .header_lines = 1});
  }
  std::string line_6() const { return folder_ / "t.csv, line 6"; }
  TemporaryFolder folder_;
};
SHOAL_IN_BOTH_ENVIRONMENTS(UserFunctions);

/// std::stof() throws std::invalid_argument("stof").
const MapFn kParses = [](Element row) -> Result<Element> {
  row.features["x"] = Tensor::scalar(std::stof(row.features["x"].strings()[0]));
  return row;
};

TEST_P(UserFunctions, NameFunctionFileAndLine) {
  for (const MapOptions options :
       {MapOptions{}, MapOptions{.parallel = 4}, MapOptions{.parallel = 4, .deterministic = false}}) {
    for (const Dataset& input : {csv(), csv().cache(), csv().shuffle(20, {.seed = 4}), csv().batch(3).unbatch()}) {
      const Error error = error_of(input.map(kParses, options).batch(2).prefetch(1));
      EXPECT_THAT(error.message(), HasSubstr(": " + line_6() + ": the function of map threw an exception: stof"));
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument) << "the same row would give it again";
      EXPECT_THROW(raise(error), std::invalid_argument) << "the exception itself comes out unchanged";
    }
  }
  const FilterFn keeps_positive = [](const Element& row) -> Result<bool> {
    return std::stof(row.features["x"].strings()[0]) > 0;
  };
  EXPECT_THAT(error_of(csv().filter(keeps_positive)).message(),
              HasSubstr(": " + line_6() + ": the function of filter threw an exception: stof"));
}

TEST_P(UserFunctions, NameWhatReturnsAnError) {
  const MapFn refuses = [](Element row) -> Result<Element> {
    if (row.features["x"].strings()[0] == "five") return data_loss("five is no number");
    return row;
  };
  const Error error = error_of(csv().map(refuses));
  EXPECT_EQ(error.kind(), ErrorKind::kDataLoss);
  EXPECT_THAT(error.message(), StartsWith("input element 4: " + line_6() + ": the function of map: five is no number"));
}

/// raise() and Shoal's own calls throw shoal::Exception, whose sentence gets the place.
TEST_P(UserFunctions, AddTheirPlaceToExceptionsOfShoal) {
  const MapFn asks = [](Element row) -> Result<Element> {
    if (row.features["x"].strings()[0] == "five") row.features["z"];
    return row;
  };
  const Error error = error_of(csv().map(asks));
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr(line_6() + ": the function of map: no tensor named \"z\"; there are: x, y"));
  try {
    raise(error);
  } catch (const Exception& exception) {
    EXPECT_THAT(exception.what(), HasSubstr(line_6() + ": the function of map: no tensor named"));
  }
}

TEST_P(UserFunctions, NameRowsOfTensorsAndNumbersOfElements) {
  const MapFn throws_at_7 = [](Element element) -> Result<Element> {
    if (value_of(element) == Value(7)) throw std::range_error("mine");
    return element;
  };
  const Dataset slices = Dataset::from_tensor_slices(Tensor::of<int64_t>({9}, {0, 1, 2, 7, 4, 5, 6, 3, 8}));
  EXPECT_THAT(error_of(slices.shuffle(9, {.seed = 1}).map(throws_at_7)).message(),
              HasSubstr(": row 3 of the tensors: the function of map threw an exception: mine"));
  for (const int parallel : {1, 3}) {
    const Dataset numbered = Dataset::range(5, 20).skip(1).map(throws_at_7, {.parallel = parallel}).batch(2);
    const Error error = error_of(numbered);
    EXPECT_THAT(
        error.message(),
        HasSubstr(": element 1 of the input of map (counted from 0): the function of map threw an exception: mine"));
    EXPECT_EQ(error.kind(), ErrorKind::kInternal) << "it may go away";
    const auto iterator = open(Dataset::range(4, 20).map(throws_at_7, {.parallel = parallel}), env());
    Element element;
    ASSERT_TRUE(value_or_raise(iterator->next(element)));
    ASSERT_TRUE(iterator->restore(value_or_raise(iterator->save())));
    EXPECT_THAT(error_of(*iterator).message(),
                HasSubstr("element 2 of the input of map (counted from 0, where the input was resumed)"));
  }
  EXPECT_THAT(
      error_of(Dataset::range(9).filter([](const Element& e) -> Result<bool> {
        if (value_of(e) == Value(7)) throw 5;
        return true;
      })).message(),
      HasSubstr("element 7 of the input of filter (counted from 0): the function of filter threw an exception that is no"));
}

TEST_P(UserFunctions, NameTheElementOfAGenerator) {
  const auto generator = [](int64_t first) -> GeneratorFn {
    if (first == 4) throw std::system_error(std::make_error_code(std::errc::connection_reset), "the feed");
    return [next = first](Element& element) mutable -> Result<bool> {
      if (next == 3) return unavailable("the feed is gone");
      element.features = Tensor::scalar<int64_t>(next++);
      return true;
    };
  };
  const Error error = error_of(Dataset::from_resumable_generator(generator).batch(2));
  EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(error.message(), HasSubstr("element 3 (counted from 0): the generator of from_generator: the feed is gone"));
  const auto iterator = open(Dataset::from_resumable_generator([&](int64_t first) { return generator(first + 4); }), env());
  const Error opening = error_of(*iterator);
  EXPECT_EQ(opening.kind(), ErrorKind::kInternal) << "the system's errors may go away";
  EXPECT_THAT(opening.message(), HasSubstr("opening the generator of from_generator threw an exception: the feed"));
}

}  // namespace
}  // namespace shoal::data
