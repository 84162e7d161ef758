// SPDX-License-Identifier: Apache-2.0
// Ops that compute each element from single elements of their operands, which broadcast as in numpy.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx_model/strided.h"

namespace shoal::convert::onnx_model {
namespace {

// ---- one operand -----------------------------------------------------------------------------------------------------

template <class T, class Of>
Result<void> each_element(Call& call, Of of) {
  SHOAL_TRY(Tensor result, call.make(dtype_of_v<decltype(of(T()))>, call.shape()));
  std::ranges::transform(call.in(0).as<T>(), elements_of<decltype(of(T()))>(result).begin(), of);
  call.give(std::move(result));
  return {};
}

/// A function of float32 is computed in double and rounded once.
template <double (*kOf)(double)>
Result<void> run_real(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  return each_element<float>(call, [](float x) { return float(kOf(x)); });
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
/// log(1 + e^x), without an overflow.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double reciprocal(double x) { return 1 / x; }

/// Returns -x. Integers wrap around, as in two's complement.
template <class T>
T negated(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return -x;
  } else {
    return T(0 - std::make_unsigned_t<T>(x));
  }
}

/// Calls run(T()) with the type T of the operand's elements: float32, int32 or int64.
template <class Run>
Result<void> with_signed(Call& call, Run run) {
  switch (call.dtype()) {
    case DType::kFloat32: return run(float());
    case DType::kInt32: return run(int32_t());
    case DType::kInt64: return run(int64_t());
    default: return call.unknown_type();
  }
}
/// Like with_signed(), but also accepts uint8.
template <class Run>
Result<void> with_number(Call& call, size_t input, Run run) {
  switch (call.dtype(input)) {
    case DType::kFloat32: return run(float());
    case DType::kInt32: return run(int32_t());
    case DType::kInt64: return run(int64_t());
    case DType::kUInt8: return run(uint8_t());
    default: return call.unknown_type(input);
  }
}

Result<void> run_neg(Call& call) {
  return with_signed(call, [&]<class T>(T) { return each_element<T>(call, negated<T>); });
}
Result<void> run_abs(Call& call) {
  return with_signed(call, [&]<class T>(T) {
    return each_element<T>(call, [](T x) { return std::is_same_v<T, float> ? T(std::fabs(x)) : x < 0 ? negated(x) : x; });
  });
}
Result<void> run_relu(Call& call) {
  return with_signed(call, [&]<class T>(T) { return each_element<T>(call, [](T x) { return x < 0 ? T(0) : x; }); });
}
Result<void> run_leaky_relu(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  const float alpha = call.real("alpha", 0.01f);
  return each_element<float>(call, [=](float x) { return x < 0 ? alpha * x : x; });
}
Result<void> run_elu(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  const double alpha = call.real("alpha", 1);
  return each_element<float>(call, [=](float x) { return x < 0 ? float(alpha * std::expm1(double(x))) : x; });
}
Result<void> run_not(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kBool));
  return each_element<bool>(call, [](bool x) { return !x; });
}
Result<void> run_is_nan(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  return each_element<float>(call, [](float x) { return std::isnan(x); });
}

// ---- several operands ------------------------------------------------------------------------------------------------

/// Returns a tensor of `shape` with the results of the function `of` for each pair of elements of a and b, which have type
/// T and broadcast to `shape`.
template <class T, class Of>
Result<Tensor> pairs(Call& call, const Tensor& a, const Tensor& b, const Shape& shape, Of of) {
  using Out = decltype(of(T(), T()));
  SHOAL_TRY(Tensor result, call.make(dtype_of_v<Out>, shape));
  const auto x = a.as<T>(), y = b.as<T>();
  auto to = result.mutable_as<Out>().begin();
  const Strides x_strides = repeated_strides(a.shape(), shape), y_strides = repeated_strides(b.shape(), shape);
  const int64_t x_step = last_stride(x_strides, shape), y_step = last_stride(y_strides, shape);
  each_row<2>(shape, {x_strides, y_strides}, [&](const auto& begins, int64_t count) {
    for (int64_t i = 0; i < count; ++i) *to++ = of(x[size_t(begins[0] + i * x_step)], y[size_t(begins[1] + i * y_step)]);
  });
  return result;
}

template <class T, class Of>
Result<void> give_pairs(Call& call, Of of) {
  SHOAL_TRY(const Shape shape, broadcast(call, 0, 1));
  SHOAL_TRY(Tensor result, pairs<T>(call, call.in(0), call.in(1), shape, of));
  call.give(std::move(result));
  return {};
}

/// Adds. Integers wrap around, as in two's complement.
struct Plus {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, float>)
      return a + b;
    else
      return T(uint64_t(a) + uint64_t(b));
  }
};
struct Minus {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, float>)
      return a - b;
    else
      return T(uint64_t(a) - uint64_t(b));
  }
};
struct Times {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, float>)
      return a * b;
    else
      return T(uint64_t(a) * uint64_t(b));
  }
};
/// Divides. The divisor of integers must not be 0.
struct Over {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, float>)
      return a / b;
    else
      return std::is_signed_v<T> && b == T(-1) ? negated(a) : T(a / b);
  }
};
/// NaN if either operand is NaN.
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

template <class Of>
Result<void> run_arithmetic(Call& call) {
  SHOAL_TRY_VOID(call.want_one_type());
  return with_number(call, 0, [&]<class T>(T) { return give_pairs<T>(call, [](T a, T b) { return Of()(a, b); }); });
}

Result<void> run_div(Call& call) {
  SHOAL_TRY_VOID(call.want_one_type());
  return with_number(call, 0, [&]<class T>(T) -> Result<void> {
    if (!std::is_same_v<T, float> && std::ranges::find(call.in(1).as<T>(), T(0)) != call.in(1).as<T>().end())
      return invalid_argument("an integer is divided by 0");
    return give_pairs<T>(call, [](T a, T b) { return Over()(a, b); });
  });
}

Result<void> run_pow(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kFloat32));
  SHOAL_TRY_VOID(call.want(1, DType::kFloat32));
  return give_pairs<float>(call, [](float a, float b) { return float(std::pow(double(a), double(b))); });
}

/// Runs Max or Min, which take any number of operands.
template <class Of>
Result<void> run_extreme(Call& call) {
  SHOAL_TRY_VOID(call.want_one_type());
  return with_number(call, 0, [&]<class T>(T) -> Result<void> {
    SHOAL_TRY(const Shape shape, broadcast(call, 0, call.inputs() - 1));
    SHOAL_TRY(Tensor result, gathered(call, call.in(0), shape, repeated_strides(call.shape(), shape)));
    for (size_t i = 1; i < call.inputs(); ++i) {
      SHOAL_TRY(Tensor next, pairs<T>(call, result, call.in(i), shape, [](T a, T b) { return Of()(a, b); }));
      result = std::move(next);
    }
    call.give(std::move(result));
    return {};
  });
}

template <class Of>
Result<void> run_order(Call& call) {
  SHOAL_TRY_VOID(call.want_one_type());
  return with_number(call, 0, [&]<class T>(T) { return give_pairs<T>(call, [](T a, T b) { return bool(Of()(a, b)); }); });
}

Result<void> run_equal(Call& call) {
  SHOAL_TRY_VOID(call.want_one_type());
  if (call.dtype() == DType::kBool) return give_pairs<bool>(call, [](bool a, bool b) { return a == b; });
  return run_order<std::equal_to<>>(call);
}

template <class Of>
Result<void> run_logic(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kBool));
  SHOAL_TRY_VOID(call.want(1, DType::kBool));
  return give_pairs<bool>(call, [](bool a, bool b) { return bool(Of()(a, b)); });
}

/// Computes min(max(x, low), high).
Result<void> run_clip(Call& call) {
  SHOAL_TRY_VOID(call.want_one_type());
  return with_number(call, 0, [&]<class T>(T) -> Result<void> {
    for (size_t i = 1; i < 3; ++i) {
      if (call.has(i)) SHOAL_TRY_VOID(call.want(i, call.dtype(), {}));
    }
    const T low = call.has(1) ? call.in(1).as<T>()[0] : std::numeric_limits<T>::lowest();
    const T high = call.has(2) ? call.in(2).as<T>()[0] : std::numeric_limits<T>::max();
    const bool has_low = call.has(1), has_high = call.has(2);
    return each_element<T>(call, [=](T x) {
      const T raised = has_low && x < low ? low : x;
      return has_high && raised > high ? high : raised;
    });
  });
}

Result<void> run_where(Call& call) {
  SHOAL_TRY_VOID(call.want(0, DType::kBool));
  SHOAL_TRY_VOID(call.want(2, call.dtype(1)));
  SHOAL_TRY(const Shape shape, broadcast(call, 0, 2));
  SHOAL_TRY(const Tensor condition, gathered(call, call.in(0), shape, repeated_strides(call.shape(0), shape)));
  SHOAL_TRY(Tensor result, gathered(call, call.in(1), shape, repeated_strides(call.shape(1), shape)));
  SHOAL_TRY(const Tensor others, gathered(call, call.in(2), shape, repeated_strides(call.shape(2), shape)));
  SHOAL_TRY_VOID(with_type(result.dtype(), [&]<class T>(T) -> Result<void> {
    const auto chosen = condition.as<bool>();
    const auto to = elements_of<T>(result);
    const auto from = elements_of<T>(others);
    for (size_t i = 0; i < to.size(); ++i) {
      if (!chosen[i]) to[i] = from[i];
    }
    return {};
  }));
  call.give(std::move(result));
  return {};
}

// ---- types -----------------------------------------------------------------------------------------------------------

/// A number beyond an integer type's range becomes the nearest integer, and NaN becomes 0; ONNX leaves both open.
template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, float>) {
    if (std::isnan(x)) return To(0);
    if (x <= float(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return x >= float(std::numeric_limits<To>::max()) ? std::numeric_limits<To>::max() : To(x);
  } else {
    return To(x);
  }
}

Result<void> cast_to_text(Call& call) {
  SHOAL_TRY(Tensor result, call.make(DType::kString, call.shape()));
  const auto to = elements_of<std::string>(result);
  SHOAL_TRY_VOID(with_number(call, 0, [&]<class T>(T) -> Result<void> {
    if (std::is_same_v<T, float>) return invalid_argument("a Cast from float32 to text is not known here");
    const auto from = call.in(0).as<T>();
    for (size_t i = 0; i < to.size(); ++i) to[i] = std::to_string(from[i]);
    return {};
  }));
  call.give(std::move(result));
  return {};
}

Result<void> run_cast(Call& call) {
  constexpr int64_t kDouble = 11;  // The number of TensorProto.DataType.DOUBLE.
  if (call.number("to", 0) == kDouble) return cast_to_doubles(call);
  SHOAL_TRY(const DType to, dtype_of_element(call.number("to", 0)));
  if (to == call.dtype()) return call.give(call.in(0)), Result<void>();
  if (to == DType::kString) return cast_to_text(call);
  return with_type(to, [&]<class To>(To) -> Result<void> {
    return with_type(call.dtype(), [&]<class From>(From) -> Result<void> {
      if constexpr (std::is_same_v<From, std::string> || std::is_same_v<To, std::string>) {
        return invalid_argument("a Cast from text to numbers is not known here");
      } else {
        return each_element<From>(call, converted<To, From>);
      }
    });
  });
}

}  // namespace

void add_elementwise(Kernels& kernels) {
  kernels["Exp"] = {run_real<std::exp>};
  kernels["Log"] = {run_real<std::log>};
  kernels["Sqrt"] = {run_real<std::sqrt>};
  kernels["Erf"] = {run_real<std::erf>};
  kernels["Sin"] = {run_real<std::sin>};
  kernels["Cos"] = {run_real<std::cos>};
  kernels["Tanh"] = {run_real<std::tanh>};
  kernels["Sigmoid"] = {run_real<sigmoid>};
  kernels["Softplus"] = {run_real<softplus>};
  kernels["Reciprocal"] = {run_real<reciprocal>};
  kernels["Neg"] = {run_neg};
  kernels["Abs"] = {run_abs};
  kernels["Relu"] = {run_relu};
  kernels["LeakyRelu"] = {run_leaky_relu, 1, 1, {{"alpha", AttributeType::kReal}}};
  kernels["Elu"] = {run_elu, 1, 1, {{"alpha", AttributeType::kReal}}};
  kernels["Not"] = {run_not};
  kernels["IsNaN"] = {run_is_nan};
  kernels["Add"] = {run_arithmetic<Plus>, 2, 2};
  kernels["Sub"] = {run_arithmetic<Minus>, 2, 2};
  kernels["Mul"] = {run_arithmetic<Times>, 2, 2};
  kernels["Div"] = {run_div, 2, 2};
  kernels["Pow"] = {run_pow, 2, 2};
  kernels["Max"] = {run_extreme<Larger>, 1, kAnyCount};
  kernels["Min"] = {run_extreme<Smaller>, 1, kAnyCount};
  kernels["Equal"] = {run_equal, 2, 2};
  kernels["Less"] = {run_order<std::less<>>, 2, 2};
  kernels["LessOrEqual"] = {run_order<std::less_equal<>>, 2, 2};
  kernels["Greater"] = {run_order<std::greater<>>, 2, 2};
  kernels["GreaterOrEqual"] = {run_order<std::greater_equal<>>, 2, 2};
  kernels["And"] = {run_logic<std::logical_and<>>, 2, 2};
  kernels["Or"] = {run_logic<std::logical_or<>>, 2, 2};
  kernels["Clip"] = {run_clip, 1, 3};
  kernels["Where"] = {run_where, 3, 3};
  kernels["Cast"] = {run_cast, 1, 1, {{"to", AttributeType::kInt}}};
}

}  // namespace shoal::convert::onnx_model
