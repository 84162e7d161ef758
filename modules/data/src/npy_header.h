// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The beginning of an NPY file: the type, the order and the shape of its array.
///
/// Format, version 1.0: "\x93NUMPY", one byte each of the major and the minor version, the length of the text (uint16,
/// little-endian; uint32 in versions 2.0 and 3.0), the text, the elements. The text is a literal of a Python dict with the
/// keys descr, fortran_order and shape, filled up with blanks. Its encoding is Latin-1 (UTF-8 in version 3.0), which
/// matters for the names of fields alone. Source: NumPy's documentation, numpy.lib.format, and NEP 1.
#include <cstdint>
#include <string>

#include "byte_source.h"
#include "shoal/base/dtype.h"
#include "shoal/base/result.h"
#include "shoal/base/shape.h"

namespace shoal::data {

/// The type of the elements of an NPY file.
struct NpyType {
  enum class Kind : char {
    kBool = 'b',
    kSigned = 'i',
    kUnsigned = 'u',
    kFloat = 'f',
    kBytes = 'S',
    kText = 'U',  ///< Four bytes for each character (UTF-32).
  };
  Kind kind = Kind::kFloat;
  size_t width = 0;  ///< Bytes of one element, >= 1.
  bool big_endian = false;
  DType dtype = DType::kFloat32;  ///< The type of the tensor.

  /// The bytes that one element takes in a tensor or while it is read, whichever is more. A text counts with its bytes and
  /// its std::string object.
  size_t memory_bytes() const;
  /// Returns the name of the type in files: "<f4".
  std::string descr() const;
};

struct NpyHeader {
  NpyType type;
  bool fortran_order = false;  ///< True: the first axis varies fastest.
  Shape shape;
  uint64_t bytes = 0;  ///< How many bytes come before the first element.

  /// The bytes of all elements; read_npy_header() has checked that this number does not overflow.
  uint64_t data_bytes() const { return uint64_t(shape.elements()) * type.width; }
};

/// Reads the header from the start of a file. Errors do not name the file: DataLoss with the offset for a header that is
/// damaged, FailedPrecondition for a file of another format, and for types and shapes that Shoal does not have.
Result<NpyHeader> read_npy_header(ByteSource& source);

/// Returns a header of version 1.0 for elements in C order. The elements begin at a multiple of 64 bytes.
std::string npy_header_text(const NpyType& type, const Shape& shape);

}  // namespace shoal::data
