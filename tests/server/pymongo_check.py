"""Checks the test server with an independent driver: pymongo.

Usage: pymongo_check.py URI

Runs operations and compares each result with the documented behavior of MongoDB. Prints
"N passed, N failed" and exits with 1 if a check failed.

Authentication is checked if the connection string has a user name, X.509 authentication if it has
`tlsCertificateKeyFile`. With a user name, OpenID Connect is checked if the server is started with
`--oidc-token token-of-ada:ada`. Requires pymongo 4.x. The database `pymongo_check` is dropped at the start
and at the end.
"""

import datetime
import re
import sys
import urllib.parse

import bson
import pymongo
import pymongo_analytics
from bson import Decimal128, Int64, ObjectId
from pymongo import DeleteOne, InsertOne, ReplaceOne, ReturnDocument, UpdateOne
from pymongo.auth_oidc import OIDCCallback, OIDCCallbackResult
from pymongo.collation import Collation
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure, WriteError

passed = 0
failures = []


def check(name, got, expected):
    global passed
    if got == expected:
        passed += 1
    else:
        failures.append(f"{name}: expected {expected!r}, got {got!r}")


def check_error(name, code, run):
    try:
        result = run()
    except (OperationFailure, WriteError) as error:
        check(name, error.code, code)
        return error
    failures.append(f"{name}: expected error {code}, got {result!r}")
    return None


def crud(db):
    c = db.crud
    check("insert_one", c.insert_one({"_id": 1, "a": 1}).inserted_id, 1)
    check("insert_many", c.insert_many([{"_id": i, "a": i % 3} for i in range(2, 8)]).inserted_ids, list(range(2, 8)))
    check("generated id", isinstance(c.insert_one({"a": 9}).inserted_id, ObjectId), True)
    c.delete_one({"a": 9})
    error = check_error("duplicate _id", 11000, lambda: c.insert_one({"_id": 1}))
    check("duplicate keyPattern", error.details["keyPattern"], {"_id": 1})
    check("duplicate keyValue", error.details["keyValue"], {"_id": 1})
    check("duplicate message", error.details["errmsg"],
          'E11000 duplicate key error collection: pymongo_check.crud index: _id_ dup key: { _id: 1 }')
    try:
        c.insert_many([{"_id": 1}, {"_id": 100}, {"_id": 2}], ordered=False)
    except BulkWriteError as error:
        check("unordered: inserted", error.details["nInserted"], 1)
        check("unordered: indexes", [e["index"] for e in error.details["writeErrors"]], [0, 2])
    c.delete_one({"_id": 100})
    check("find filter", [d["_id"] for d in c.find({"a": 1}).sort("_id", 1)], [1, 4, 7])
    check("sort skip limit", [d["_id"] for d in c.find().sort([("a", -1), ("_id", 1)]).skip(1).limit(2)], [5, 1])
    check("projection", c.find_one({"_id": 1}, {"a": 1, "_id": 0}), {"a": 1})
    check("count", c.count_documents({"a": {"$gte": 1}}), 5)
    check("estimated count", c.estimated_document_count(), 7)
    check("distinct", c.distinct("a"), [0, 1, 2])
    updated = c.update_many({"a": 1}, {"$inc": {"a": 10}})
    check("update_many", (updated.matched_count, updated.modified_count), (3, 3))
    noop = c.update_one({"_id": 1}, {"$set": {"a": 11}})
    check("no change", (noop.matched_count, noop.modified_count), (1, 0))
    upserted = c.update_one({"_id": 50, "kind": "x"}, {"$set": {"n": 1}}, upsert=True)
    check("upsert", (upserted.upserted_id, c.find_one({"_id": 50})), (50, {"_id": 50, "kind": "x", "n": 1}))
    check("replace_one", c.replace_one({"_id": 50}, {"z": 1}).modified_count, 1)
    check("replaced", c.find_one({"_id": 50}), {"_id": 50, "z": 1})
    check("pipeline update", c.update_one({"_id": 50}, [{"$set": {"y": {"$add": ["$z", 1]}}}]).modified_count, 1)
    check("find_one_and_update", c.find_one_and_update(
        {"_id": 50}, {"$inc": {"y": 1}}, return_document=ReturnDocument.AFTER), {"_id": 50, "z": 1, "y": 3})
    check("find_one_and_delete", c.find_one_and_delete({"_id": 50}, projection={"y": 1}), {"_id": 50, "y": 3})
    check("find_one_and_replace none", c.find_one_and_replace({"_id": 999}, {"a": 1}), None)
    bulk = c.bulk_write([
        InsertOne({"_id": 60}), UpdateOne({"_id": 60}, {"$set": {"a": 1}}), ReplaceOne({"_id": 61}, {"b": 1}, upsert=True),
        DeleteOne({"_id": 60})])
    check("bulk_write", (bulk.inserted_count, bulk.modified_count, bulk.upserted_count, bulk.deleted_count), (1, 1, 1, 1))
    check("delete_many", c.delete_many({}).deleted_count, 8)


def operators(db):
    c = db.operators
    c.insert_many([
        {"_id": 1, "lines": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 5}], "name": "Ann", "n": 1, "f": 7},
        {"_id": 2, "lines": [{"sku": "a", "qty": 5}], "name": "bob", "n": Int64(2), "x": None},
        {"_id": 3, "lines": [], "name": "Cyd", "n": 3.5, "tags": ["t", "u"]},
    ])

    def ids(query, **options):
        return [d["_id"] for d in c.find(query, **options).sort("_id", 1)]

    check("elemMatch", ids({"lines": {"$elemMatch": {"sku": "a", "qty": 5}}}), [2])
    check("dotted", ids({"lines.sku": "a", "lines.qty": 5}), [1, 2])
    check("index path", ids({"lines.0.sku": "a"}), [1, 2])
    check("size", ids({"lines": {"$size": 0}}), [3])
    check("null and missing", ids({"x": None}), [1, 2, 3])
    check("exists", ids({"x": {"$exists": True}}), [2])
    check("type", ids({"n": {"$type": "long"}}), [2])
    check("regex", ids({"name": re.compile("^[ab]", re.I)}), [1, 2])
    check("all", ids({"tags": {"$all": ["u", "t"]}}), [3])
    check("not", ids({"n": {"$not": {"$gt": 2}}}), [1, 2])
    check("nor", ids({"$nor": [{"_id": 1}, {"n": 3.5}]}), [2])
    check("mod", ids({"n": {"$mod": [2, 0]}}), [2])
    check("bits", ids({"f": {"$bitsAllSet": [0, 1, 2]}}), [1])
    check("expr", ids({"$expr": {"$gt": ["$n", 1.5]}}), [2, 3])
    check("collation", ids({"name": "BOB"}, collation=Collation("en", strength=2)), [2])
    check_error("unknown operator", 2, lambda: list(c.find({"a": {"$foo": 1}})))
    check_error("unknown top level operator", 2, lambda: list(c.find({"$foo": 1})))
    check("slice", c.find_one({"_id": 1}, {"lines": {"$slice": -1}})["lines"], [{"sku": "b", "qty": 5}])
    check("positional projection", c.find_one({"lines.sku": "b"}, {"lines.$": 1}),
          {"_id": 1, "lines": [{"sku": "b", "qty": 5}]})

    c.update_one({"_id": 1, "lines.sku": "b"}, {"$set": {"lines.$.qty": 9}})
    check("positional", c.find_one({"_id": 1})["lines"][1]["qty"], 9)
    c.update_one({"_id": 1}, {"$inc": {"lines.$[l].qty": 1}}, array_filters=[{"l.sku": "a"}])
    check("filtered positional", c.find_one({"_id": 1})["lines"][0]["qty"], 2)
    c.update_one({"_id": 3}, {"$push": {"tags": {"$each": ["a", "z"], "$sort": 1, "$slice": 3}}})
    check("push", c.find_one({"_id": 3})["tags"], ["a", "t", "u"])
    c.update_one({"_id": 3}, {"$addToSet": {"tags": "a"}, "$unset": {"name": 1}, "$rename": {"n": "m"}, "$max": {"k": 4}})
    check("several operators", c.find_one({"_id": 3}), {"_id": 3, "lines": [], "tags": ["a", "t", "u"], "k": 4, "m": 3.5})
    c.update_one({"_id": 3}, {"$pull": {"tags": {"$in": ["a", "t"]}}, "$currentDate": {"at": True}, "$mul": {"k": 2}})
    document = c.find_one({"_id": 3})
    check("pull, mul, currentDate", (document["tags"], document["k"], type(document["at"])), (["u"], 8, datetime.datetime))
    c.update_one({"_id": 3}, {"$set": {"d": Decimal128("0.1")}})
    c.update_one({"_id": 3}, {"$inc": {"d": Decimal128("0.2")}})
    check("decimal", c.find_one({"_id": 3})["d"], Decimal128("0.3"))
    check_error("conflict", 40, lambda: c.update_one({"_id": 1}, {"$set": {"a": 1}, "$inc": {"a.b": 1}}))
    check_error("immutable _id", 66, lambda: c.update_one({"_id": 1}, {"$set": {"_id": 2}}))
    check_error("inc of a string", 14, lambda: c.update_one({"_id": 1}, {"$inc": {"name": 1}}))
    check_error("unknown modifier", 9, lambda: c.update_one({"_id": 1}, {"$foo": {"a": 1}}))
    check_error("path through a scalar", 28, lambda: c.update_one({"_id": 1}, {"$set": {"name.x": 1}}))


def aggregation(db):
    c = db.sales
    c.insert_many([{"_id": i, "k": "ab"[i % 2], "n": i, "c": i % 3, "at": datetime.datetime(2024, 1 + i % 2, 3)}
                   for i in range(6)])
    db.customers.insert_many([{"_id": 0, "name": "Zoe"}, {"_id": 1, "name": "Ann"}])

    def run(*stages, **options):
        return list(c.aggregate(list(stages), **options))

    check("group", run({"$group": {"_id": "$k", "s": {"$sum": "$n"}, "a": {"$avg": "$n"}}}, {"$sort": {"_id": 1}}),
          [{"_id": "a", "s": 6, "a": 2.0}, {"_id": "b", "s": 9, "a": 3.0}])
    check("lookup", run(
        {"$match": {"_id": {"$lt": 2}}}, {"$sort": {"_id": 1}},
        {"$lookup": {"from": "customers", "localField": "c", "foreignField": "_id", "as": "who"}},
        {"$unwind": "$who"}, {"$project": {"_id": 0, "name": {"$toUpper": "$who.name"}}}),
        [{"name": "ZOE"}, {"name": "ANN"}])
    check("lookup pipeline", run(
        {"$match": {"_id": 1}},
        {"$lookup": {"from": "customers", "let": {"c": "$c"}, "as": "w",
                     "pipeline": [{"$match": {"$expr": {"$eq": ["$_id", "$$c"]}}}]}},
        {"$project": {"w.name": 1}}), [{"_id": 1, "w": [{"name": "Ann"}]}])
    check("facet", run({"$facet": {"n": [{"$count": "n"}], "top": [{"$sort": {"n": -1}}, {"$limit": 1}, {"$project": {"n": 1}}]}}),
          [{"n": [{"n": 6}], "top": [{"_id": 5, "n": 5}]}])
    check("bucket", run({"$bucket": {"groupBy": "$n", "boundaries": [0, 3, 6]}}),
          [{"_id": 0, "count": 3}, {"_id": 3, "count": 3}])
    check("date", run({"$match": {"_id": 1}}, {"$project": {"_id": 0, "m": {"$month": "$at"},
          "s": {"$dateToString": {"date": "$at", "format": "%Y-%m-%d"}}}}), [{"m": 2, "s": "2024-02-03"}])
    check("let", run({"$match": {"$expr": {"$eq": ["$n", "$$v"]}}}, {"$count": "n"}, let={"v": 3}), [{"n": 1}])
    check("array expressions", run({"$limit": 1}, {"$project": {"_id": 0, "v": {"$reduce": {
        "input": {"$map": {"input": {"$range": [1, 4]}, "in": {"$multiply": ["$$this", 2]}}}, "initialValue": 0,
        "in": {"$add": ["$$value", "$$this"]}}}}}), [{"v": 12}])
    run({"$match": {"k": "a"}}, {"$out": "written"})
    check("out", db.written.count_documents({}), 3)
    run({"$project": {"n": {"$multiply": ["$n", 10]}}}, {"$merge": {"into": "written", "whenNotMatched": "discard"}})
    check("merge", sorted(d["n"] for d in db.written.find()), [0, 20, 40])
    check("coll stats", run({"$collStats": {"count": {}}})[0]["count"], 6)
    check("documents", list(db.aggregate([{"$documents": [{"a": 1}]}])), [{"a": 1}])
    check_error("unknown stage", 40324, lambda: run({"$foo": 1}))
    check_error("unknown expression", 168, lambda: run({"$project": {"a": {"$foo": 1}}}))
    check_error("divide by zero", 2, lambda: run({"$project": {"a": {"$divide": [1, 0]}}}))
    check_error("not an object", 40228, lambda: run({"$replaceRoot": {"newRoot": "$n"}}))


def indexes(db):
    c = db.indexed
    check("create_index", c.create_index([("email", 1)], unique=True), "email_1")
    c.insert_one({"_id": 1, "email": "a"})
    error = check_error("unique", 11000, lambda: c.insert_one({"_id": 2, "email": "a"}))
    check("unique keyValue", error.details["keyValue"], {"email": "a"})
    check("duplicate class", isinstance(error, DuplicateKeyError), True)
    c.create_index([("a", 1), ("b", -1)], name="ab", partialFilterExpression={"a": {"$gt": 0}})
    c.create_index("at", expireAfterSeconds=60)
    c.create_index([("t", "text")], weights={"t": 10})
    c.create_index([("$**", 1)])
    c.create_index([("h", "hashed")])
    c.create_index([("g", "2dsphere")])
    listed = c.index_information()
    check("index names", sorted(listed), ["$**_1", "_id_", "ab", "at_1", "email_1", "g_2dsphere", "h_hashed", "t_text"])
    check("compound key", listed["ab"]["key"], [("a", 1), ("b", -1)])
    check("text weights", dict(listed["t_text"]["weights"]), {"t": 10})
    check("ttl", listed["at_1"]["expireAfterSeconds"], 60)
    check("identical index", c.create_index([("email", 1)], unique=True), "email_1")
    check_error("same key, other options", 85, lambda: c.create_index([("email", 1)], name="other", unique=True))
    check_error("same name, other key", 86, lambda: c.create_index([("x", 1)], name="email_1"))
    check_error("bad direction", 67, lambda: c.create_index([("x", 0)]))
    db.duplicates.insert_many([{"v": 1}, {"v": 1}])
    check_error("existing duplicates", 11000, lambda: db.duplicates.create_index("v", unique=True))
    check("failed index is removed", list(db.duplicates.index_information()), ["_id_"])
    check("hint", len(list(c.find({"email": "a"}).hint("email_1"))), 1)
    check_error("bad hint", 2, lambda: list(c.find({}).hint("none")))
    db.command("collMod", "indexed", index={"name": "at_1", "expireAfterSeconds": 5})
    check("collMod ttl", c.index_information()["at_1"]["expireAfterSeconds"], 5)
    c.drop_index("ab")
    check("dropped", "ab" in c.index_information(), False)
    check_error("drop unknown", 27, lambda: c.drop_index("ab"))
    c.create_index("ci", unique=True, collation=Collation("en", strength=2))
    c.insert_one({"_id": 10, "email": "x", "ci": "A"})
    check_error("collation unique", 11000, lambda: c.insert_one({"_id": 11, "email": "y", "ci": "a"}))
    error = check_error("list indexes of an absent collection", 26, lambda: db.command("listIndexes", "none"))
    check("code name", error.details["codeName"], "NamespaceNotFound")


def administration(client, db):
    db.create_collection("capped", capped=True, size=4096, max=2)
    db.capped.insert_many([{"_id": i} for i in range(4)])
    check("capped", [d["_id"] for d in db.capped.find()], [2, 3])
    check("options", db.capped.options(), {"capped": True, "size": 4096, "max": 2})
    db.create_collection("checked", validator={"n": {"$gt": 0}})
    check_error("validator", 121, lambda: db.checked.insert_one({"n": 0}))
    db.checked.insert_one({"n": 1})
    check_error("create again", 48, lambda: db.command("create", "checked", capped=True, size=100))
    db.checked.rename("renamed")
    check("renamed", "renamed" in db.list_collection_names(), True)
    check_error("rename an absent collection", 26, lambda: db.checked.rename("x"))
    check("databases", db.name in client.list_database_names(), True)
    check("server version", client.server_info()["version"].count("."), 2)
    error = check_error("unknown command", 59, lambda: db.command("nonsense"))
    check("unknown command name", error.details["codeName"], "CommandNotFound")
    check_error("unknown field", 40415, lambda: db.command("find", "crud", nonsense=1))
    check_error("wrong type", 14, lambda: db.command("find", "crud", filter=1))
    check_error("invalid namespace", 73, lambda: db.command("create", "a$b"))


def cursors(db):
    c = db.many
    c.insert_many([{"_id": i, "text": "x" * 100} for i in range(10_000)])
    check("10,000 documents", sum(1 for _ in c.find()), 10_000)
    check("small batches", [d["_id"] for d in c.find(batch_size=997)], list(range(10_000)))
    check("aggregate batches", sum(1 for _ in c.aggregate([{"$match": {"_id": {"$gte": 5_000}}}], batchSize=100)), 5_000)
    cursor = c.find(batch_size=2)
    next(cursor)
    check("open cursor", cursor.alive, True)
    cursor_id = cursor.cursor_id
    cursor.close()
    error = check_error("killed cursor", 43, lambda: db.command("getMore", Int64(cursor_id), collection="many"))
    check("killed cursor name", error.details["codeName"], "CursorNotFound")
    check("lookup by _id", c.find_one({"_id": 7_777})["_id"], 7_777)
    check("big document", c.insert_one({"_id": "big", "b": bson.Binary(b"x" * 5_000_000)}).inserted_id, "big")
    check("big document back", len(c.find_one({"_id": "big"})["b"]), 5_000_000)
    check("delete 10,000", c.delete_many({}).deleted_count, 10_001)


def sessions(client, db):
    with client.start_session() as session:
        db.sessions.insert_one({"_id": 1}, session=session)
        check("session read", db.sessions.find_one({"_id": 1}, session=session), {"_id": 1})
    if client.topology_description.topology_type_name.startswith("ReplicaSet"):
        check("majority", db.sessions.with_options(write_concern=pymongo.WriteConcern("majority")).insert_one({"_id": 2}).inserted_id, 2)
        secondary = db.sessions.with_options(read_preference=pymongo.ReadPreference.SECONDARY)
        check("secondary read", secondary.count_documents({}), 2)
        check("members", len(client.nodes), 3)


def authentication(client, uri):
    """Users and SCRAM mechanisms, on a server with access control."""
    admin = client.admin
    parts = urllib.parse.urlsplit(uri)
    hosts = parts.netloc.rpartition("@")[2]

    def authenticate(user, password, mechanism=None):
        options = {"authMechanism": mechanism} if mechanism else {}
        other = pymongo.MongoClient(
            f"mongodb://{hosts}/?{parts.query}", username=user, password=password,
            serverSelectionTimeoutMS=10_000, **options)
        try:
            return list(other.pymongo_check.users.find())
        finally:
            other.close()

    both = ["SCRAM-SHA-1", "SCRAM-SHA-256"]
    for user, mechanisms in (("check1", both[:1]), ("check256", both[1:]), ("checkBoth", both)):
        admin.command("createUser", user, pwd="p:@/\u00adX", roles=["root"], mechanisms=mechanisms)
        listed = admin.command("usersInfo", user)["users"]
        check(f"{user}'s mechanisms", listed[0]["mechanisms"], mechanisms)
        for mechanism in [None, *mechanisms]:
            check(f"{user} by {mechanism}", authenticate(user, "p:@/\u00adX", mechanism), [])
        check_error(f"{user}'s wrong password", 18, lambda user=user: authenticate(user, "wrong"))
    check("a password normalized by SASLprep", authenticate("check256", "p:@/X"), [])
    check_error("SCRAM-SHA-1 without SASLprep", 18, lambda: authenticate("check1", "p:@/X"))
    check_error("a mechanism without credentials", 18, lambda: authenticate("check1", "p:@/\u00adX", both[1]))
    check_error("an unknown user", 18, lambda: authenticate("absent", "x"))
    anonymous = pymongo.MongoClient(f"mongodb://{hosts}/?{parts.query}", serverSelectionTimeoutMS=10_000)
    check_error("unauthenticated", 13, lambda: list(anonymous.pymongo_check.users.find()))
    anonymous.close()
    for user in ("check1", "check256", "checkBoth"):
        admin.command("dropUser", user)
    check_error("a dropped user", 18, lambda: authenticate("check1", "p:@/\u00adX"))


def x509(client, uri):
    """X.509 authentication, on a server with TLS."""
    subject = "CN=client,OU=tests,O=Marula"
    parts = urllib.parse.urlsplit(uri)
    uri = f"mongodb://{parts.netloc.rpartition('@')[2]}/?{parts.query}"

    def authenticate(**options):
        other = pymongo.MongoClient(uri, authMechanism="MONGODB-X509", serverSelectionTimeoutMS=10_000, **options)
        try:
            return other.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"]
        finally:
            other.close()

    check_error("a certificate without a user", 18, authenticate)
    client["$external"].command("createUser", subject, roles=[])
    owner = [{"user": subject, "db": "$external"}]
    check("a certificate", authenticate(), owner)
    check("a certificate with its subject as user name", authenticate(username=subject), owner)
    check_error("a certificate with another user name", 18, lambda: authenticate(username="CN=other"))
    client["$external"].command("dropUser", subject)
    check_error("a certificate of a dropped user", 18, authenticate)


class Tokens(OIDCCallback):
    """Returns the same access token, and counts the calls."""

    def __init__(self, token):
        self.token = token
        self.calls = 0

    def fetch(self, context):
        self.calls += 1
        return OIDCCallbackResult(access_token=self.token)


def oidc(client, uri):
    """MONGODB-OIDC, on a server with the access token of a user."""
    parts = urllib.parse.urlsplit(uri)
    hosts = parts.netloc.rpartition("@")[2]

    def connect(tokens):
        properties = {"OIDC_CALLBACK": tokens}
        return pymongo.MongoClient(
            f"mongodb://{hosts}/?{parts.query}", authMechanism="MONGODB-OIDC", appname="oidc", retryReads=False,
            authMechanismProperties=properties, serverSelectionTimeoutMS=10_000)

    tokens = Tokens("token-of-ada")
    other = connect(tokens)
    users = other.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"]
    check("the user of an access token", users, [{"user": "ada", "db": "$external"}])
    check("calls of the callback", tokens.calls, 1)
    required = {"failCommands": ["find"], "errorCode": 391, "appName": "oidc"}
    client.admin.command("configureFailPoint", "failCommand", mode={"times": 1}, data=required)
    check("a find after reauthentication", list(other.pymongo_check.absent.find()), [])
    check("calls after reauthentication", tokens.calls, 2)
    other.close()
    other = connect(Tokens("another-token"))
    check_error("another access token", 18, lambda: other.admin.command("connectionStatus"))
    other.close()


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    client = pymongo.MongoClient(sys.argv[1], serverSelectionTimeoutMS=10_000)
    db = client.pymongo_check
    client.drop_database(db.name)
    for section in (crud, operators, aggregation, indexes, cursors):
        section(db)
    for section in pymongo_analytics.sections(check, check_error):
        section(db)
    pymongo_analytics.search(check, check_error, db)
    administration(client, db)
    sessions(client, db)
    if "@" in sys.argv[1]:
        authentication(client, sys.argv[1])
        mechanisms = client.admin.command("getParameter", authenticationMechanisms=1)
        if "MONGODB-OIDC" in mechanisms["authenticationMechanisms"]:
            oidc(client, sys.argv[1])
    if "tlsCertificateKeyFile" in sys.argv[1]:
        x509(client, sys.argv[1])
    client.drop_database(db.name)
    check("dropped database", db.name in client.list_database_names(), False)
    client.close()
    for failure in failures:
        print("FAILED", failure)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
