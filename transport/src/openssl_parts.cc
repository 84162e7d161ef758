// SPDX-License-Identifier: Apache-2.0
// In a static program these definitions replace two parts of Debian's libcrypto that Shoal never uses, but that would be a
// tenth of the program. One is the support for certificates compressed by zstd, which needs the zstd library. The other is
// the tables for the curve SM2. The definitions do what OpenSSL does if it is built without zstd, and select the general
// arithmetic that OpenSSL has for other curves. An OpenSSL that lacks a part needs no replacement.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/bio.h>
#include <openssl/comp.h>
#include <openssl/ec.h>

extern "C" {
#ifndef OPENSSL_NO_ZSTD
COMP_METHOD* COMP_zstd() { return nullptr; }
COMP_METHOD* COMP_zstd_oneshot() { return nullptr; }
const BIO_METHOD* BIO_f_zstd() { return nullptr; }
void ossl_comp_zstd_cleanup() {}
#endif
#ifndef OPENSSL_NO_SM2
const EC_METHOD* EC_GFp_sm2p256_method() { return EC_GFp_mont_method(); }
#endif
}
