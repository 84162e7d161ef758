#include "census.h"

#include <array>
#include <cmath>

#include "shoal/base/random.h"
#include "shoal/base/storage.h"

namespace wide_and_deep {
namespace {

using shoal::DType;
using shoal::Tensor;
using shoal::data::Element;

constexpr std::array<const char*, kIdColumns> kTexts{
    "workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country"};
/// A number, what it is at least about, and how it is scaled; money has a long tail, so its logarithm counts.
struct Number {
  const char* name;
  float offset;
  float scale;
  bool logarithm;
};
constexpr std::array<Number, kNumberColumns> kNumbers{{{"age", 38, 1.0f / 14, false},
                                                       {"fnlwgt", 12, 1.0f, true},
                                                       {"education_num", 10, 1.0f / 3, false},
                                                       {"capital_gain", 0, 1.0f / 5, true},
                                                       {"capital_loss", 0, 1.0f / 5, true},
                                                       {"hours_per_week", 40, 1.0f / 12, false}}};

std::string find_file(const std::string& data_dir, const std::string& name) {
  const auto storage = shoal::make_file_storage();
  for (const std::string& folder : {data_dir, shoal::join_path(data_dir, "adult")}) {
    const std::string path = shoal::join_path(folder, name);
    if (storage->exists(path)) return path;
  }
  shoal::raise(shoal::not_found("no " + name + " in " + data_dir + " or " + data_dir +
                                "/adult; --data-dir names the folder of the adult census files, or its parent"));
}

shoal::data::CsvOptions columns() {
  const std::string numbers = " age fnlwgt education_num capital_gain capital_loss hours_per_week ";
  shoal::data::CsvOptions options{.columns = {}, .labels = {"income"}, .trim_blanks = true};
  for (const char* name :
       {"age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
        "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"}) {
    const bool number = numbers.find(" " + std::string(name) + " ") != std::string::npos;
    options.columns.push_back({.name = name, .dtype = number ? DType::kFloat32 : DType::kString});
  }
  return options;
}

/// One person as the model takes them.
Element encode(Element person) {
  Tensor ids(DType::kInt64, shoal::Shape{kIdColumns}), numbers(DType::kFloat32, shoal::Shape{kNumberColumns});
  for (size_t i = 0; i < kTexts.size(); ++i) {
    const std::string& text = person.features.find(kTexts[i])->strings()[0];
    ids.mutable_as<int64_t>()[i] = int64_t(shoal::fold_in(shoal::RandomKey{0}, text) % uint64_t(kIds));
  }
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    const Number& number = kNumbers[i];
    const float value = person.features.find(number.name)->as<float>()[0];
    numbers.mutable_as<float>()[i] = ((number.logarithm ? std::log1p(value) : value) - number.offset) * number.scale;
  }
  const bool rich = person.labels.single().strings()[0].starts_with(">50K");  // The test file ends it with a dot.
  return {{{"ids", ids}, {"numbers", numbers}}, Tensor::of<float>({1}, {rich ? 1.0f : 0.0f})};
}

}  // namespace

shoal::data::Dataset census(const std::string& data_dir, Part part) {
  shoal::data::CsvOptions options = columns();
  if (part == Part::kTest) options.header_lines = 1;  // The line is a remark.
  const std::string path = find_file(data_dir, part == Part::kTest ? "adult.test" : "adult.data");
  return shoal::data::Dataset::csv({path}, std::move(options)).map(encode).cache();
}

}  // namespace wide_and_deep
