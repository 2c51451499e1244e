// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys that were made for these tests and are good for nothing else.

namespace tidemill {

inline constexpr char kProofKey[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC8fdQ2SnetVWWL\n"
    "umqV7GYgJGBfnwnJQUi/Q+6F33VwYZt7FbdC9M/MBpl5lJLk4TmqLZIezomN68P4\n"
    "XuNR7XwR86tqwPEVs+TUkhGOVMZ7P9gJftktZaYff/DGQlS5rW7Tl+O1vwSuB0hu\n"
    "RT24viS8FrtJA6kiPEAnlokTGTo8CQVIdFIktBCHLfqU9jw5l8ZcAX8yy1L8d8I+\n"
    "jno+BhK4dYbGmNtwYI5U+DPFDHS0as/Kt7xfMsPkux2DPQRNJ5l/q77AVjncFQwV\n"
    "qpm7+uWOJS7Vp5TaW3EAFJ/h0Y3m13Ci+rHm+wdgs8U7TkKWZ3Bi56p7qWDI18gP\n"
    "kRP9rigpAgMBAAECggEAVSAonko8SUI3ZYbPixzjtGFpStX65/K9ZW/LAZe9JH9Y\n"
    "ZhqVFL6WN+jFGETyoD5dOg9xncseEUOoUfucgwwTS9I1mLVBS9FeJ2g+WH7N0qyv\n"
    "Jv6sG1X8U96GgStEs0RxuEqw8owtk2DDo9VOfigVVAKaG2v1TvpR6O8RwdfTVnff\n"
    "qWK3NtTy18U6pK77JqaSN2avJ62df/i59nIK1ELTFW17Qz40+M7tabxh7UmpKQrE\n"
    "DawcKOCsTob2ZhsP9V5tsU6F+i7gwtjiDzwhzsHzYyQfrHbG+0vfwhlmvtSwI30R\n"
    "d/U7HdS9kq0C49HcvZlm46A1lETuUkbF2jT2xvLpLwKBgQDpr1A/3WmSuSmWo96Z\n"
    "Xr53L+aG2mPwwZ6DXA4JLDUB3tAvLw1JogNsSmr1hgZaxEqZrLWrL1XdgcmooL2i\n"
    "JirWT2AB5/22OLLPcXi7+Jot/CgNXEK+BbiQyNm6/S6VWgfM5q8Cu9TKo40pbyvr\n"
    "8gRPZRAN7w/icJ82ncVr0NHgtwKBgQDOfbb8DJYTq6/oiH6LJ4lixaMThL8zBm+N\n"
    "ASV8nAy56/b12zsuLHy6LHnzBWRrPqZcyOjlAqdupadNQLGpZLx60BzmGdGIUMoh\n"
    "NFxphVRJYpGHnkeULGyiltJVRt0lmmbcg5+I9rWcNiEDCbCIoa3BfTzzQDMUbCpm\n"
    "O33zeAWeHwKBgQCh9f3apax8IpUucNjg14eOt8ZAhLBrtuYUCQM5XEhIyZLkgOnm\n"
    "tMFGlrVXAdL5qb5CkC9BPAd5BHEtzGpiLa3W5yCVcaKoXtefavfQ39aMNI3V5LHl\n"
    "XbWzs2EkdkGJBeMOInv9mw06fOxjYUfBufU+yb68yYnq2T+f7O1dcldkNQKBgQCN\n"
    "O40hnhY0BBUADgPHd9ZPGXCt0/jWlItNvT//l9hYfh1fEYDL1x/EUtFiOAj0FVjC\n"
    "U6R/pq4QTvs8KoiZnM4RjjCF7ZjUDLYDugWPIuOAgguZ39eDcFMpbdEVBLATnSTH\n"
    "pLtEecHDw34WztTQzwzCL7+1fO6zBDyHyh8enLPy7wKBgFCDJES59oFVdA0M7Y7o\n"
    "CSrWcGzjUO/ZdjR76HjmsIh/ri6pl8IqPP8aK1lTFyAgqMjsGzRMFIQmITCwFp6Q\n"
    "jHc1b62Kh+tJi4JjkuwuIM2Bu7L2MM5CNp2jHl0Nuyv19v3fXomcQQZ6im2JEwSy\n"
    "uaeUPr3Ez6+IdRycEwEkBgXf\n"
    "-----END PRIVATE KEY-----\n";
// Its certificate.
inline constexpr char kProofPublic[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIC/zCCAeegAwIBAgIUNtcEJJc+tpw9ngDBq1KTUewUMf0wDQYJKoZIhvcNAQEL\n"
    "BQAwDjEMMAoGA1UEAwwDYXdzMCAXDTI2MTExNjA4MzUyOVoYDzIxMjYxMDIzMDgz\n"
    "NTI5WjAOMQwwCgYDVQQDDANhd3MwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEK\n"
    "AoIBAQC8fdQ2SnetVWWLumqV7GYgJGBfnwnJQUi/Q+6F33VwYZt7FbdC9M/MBpl5\n"
    "lJLk4TmqLZIezomN68P4XuNR7XwR86tqwPEVs+TUkhGOVMZ7P9gJftktZaYff/DG\n"
    "QlS5rW7Tl+O1vwSuB0huRT24viS8FrtJA6kiPEAnlokTGTo8CQVIdFIktBCHLfqU\n"
    "9jw5l8ZcAX8yy1L8d8I+jno+BhK4dYbGmNtwYI5U+DPFDHS0as/Kt7xfMsPkux2D\n"
    "PQRNJ5l/q77AVjncFQwVqpm7+uWOJS7Vp5TaW3EAFJ/h0Y3m13Ci+rHm+wdgs8U7\n"
    "TkKWZ3Bi56p7qWDI18gPkRP9rigpAgMBAAGjUzBRMB0GA1UdDgQWBBTGokfUuD4Q\n"
    "1rR1Z5Mf14ctuBx1xTAfBgNVHSMEGDAWgBTGokfUuD4Q1rR1Z5Mf14ctuBx1xTAP\n"
    "BgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQBPeK4V1VPK3LifLgzK\n"
    "n6O/6KITe9MPfcgH+GV5AOqqZ2VE2XF1u2CrVjvqTFS2GAjG4mpo/aKVj/P4H7Bl\n"
    "eT/W7DLTPZD1oXbvzlNbQag6XBTPbK98nOQOf5lNGrAmop3VIY5XeDyOOSUn3hHr\n"
    "qDSvvKsBlFjfslJudrrZmPwUL+u4VULO1ChhZPHwF7hxKBUuniXr1lqbprTcuI2k\n"
    "h3UL6/Nn+1FqSNP8BVTwVFM0fqGAOC6YS/ae+2GgAjDrR5C1lnUlhQaVbBqvGYn8\n"
    "RItJS2acvcVSkSao5gQoEzlZcZnNvj/iHmZbCjRnJzBT2f0U0IDB3MraXehg9kvE\n"
    "zz+W\n"
    "-----END CERTIFICATE-----\n";
// Of another key.
inline constexpr char kOtherPublic[] =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAx30VdO/m21aUbb0ZjbuH\n"
    "HTNcP7YdKicOhcmsQhzXE2dlxRZDqn8r056CMNcxaKAP1zmDmyj1mXudyIze9HJ+\n"
    "dd8LlD5mnRwmxaeklWYbEloh9sHgD9gO9cNf22Y41hMnfeqsLTV2p/ZR6YzyXO0s\n"
    "51J/M3ZKdeUW//aglb3m7P2P0ykOcB0ZoE3/UlTzymLwkdR9tionbMB15p8k53F2\n"
    "WZ0b7m/9OoSiwD0zqZN1mqkrGh7kzdGcRnM+kWhZVN+P+lKzgFRWF1yd6wb8BotQ\n"
    "Pl9NbbAPEuBE8soHdgV6+NN4Kz2RItdqh5C1THbW+iDLg3WxQOLr6M1tFntmFK7R\n"
    "swIDAQAB\n"
    "-----END PUBLIC KEY-----\n";
// The first one, as Google publishes its keys.
inline constexpr char kProofJwks[] =
    "{\"keys\":[{\"kty\":\"EC\",\"kid\":\"k0\"},{\"kty\":\"RSA\",\"kid\":\"k1\",\"e\":\"AQAB\","
    "\"n\":\""
    "vH3UNkp3rVVli7pqlexmICRgX58JyUFIv0Puhd91cGGbexW3QvTPzAaZeZSS5OE5qi2SHs6JjevD-F7j"
    "Ue18EfOrasDxFbPk1JIRjlTGez_YCX7ZLWWmH3_wxkJUua1u05fjtb8ErgdIbkU9uL4kvBa7SQOpIjxA"
    "J5aJExk6PAkFSHRSJLQQhy36lPY8OZfGXAF_MstS_HfCPo56PgYSuHWGxpjbcGCOVPgzxQx0tGrPyre8"
    "XzLD5Lsdgz0ETSeZf6u-wFY53BUMFaqZu_rljiUu1aeU2ltxABSf4dGN5tdwovqx5vsHYLPFO05Clmdw"
    "Yueqe6lgyNfID5ET_a4oKQ"
    "\"}]}";

}  // namespace tidemill
