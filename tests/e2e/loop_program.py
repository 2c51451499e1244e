# SPDX-License-Identifier: Apache-2.0
"""The program of a loop in Python, with nothing but the standard library.

usage: loop_program.py BATCH
"""

import http.client
import json
import os
import sys
from urllib.parse import urlsplit

url = urlsplit(os.environ["TIDEMILL_URL"])
connection = http.client.HTTPConnection(url.netloc)  # kept for all requests
results = []
while True:
    connection.request(
        "POST", f"{url.path}/next?max={sys.argv[1]}", json.dumps({"results": results})
    )
    answer = json.load(connection.getresponse())
    if answer["done"]:
        break
    results = [{"item": item["item"]} for item in answer["items"]]
