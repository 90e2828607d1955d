"""Checks of the stages and operators of analytics: windows, graphs, densification, geometry and text.

The expected results are those of the examples in MongoDB's manual, or computed by hand. Used by
pymongo_check.py.
"""

import datetime
import math

import pymongo
from bson import SON


def utc(*parts):
    return datetime.datetime(*parts)


def sections(check, check_error):
    """Returns the sections, functions of a database, which report with the two functions."""

    def windows(db):
        c = db.cake_sales
        c.insert_many([
            {"_id": 0, "at": utc(2020, 5, 18, 14, 10, 30), "state": "CA", "price": 13, "quantity": 120},
            {"_id": 1, "at": utc(2021, 3, 20, 11, 30, 5), "state": "WA", "price": 14, "quantity": 140},
            {"_id": 2, "at": utc(2021, 1, 11, 6, 31, 15), "state": "CA", "price": 12, "quantity": 145},
            {"_id": 3, "at": utc(2020, 2, 8, 13, 13, 23), "state": "WA", "price": 13, "quantity": 104},
            {"_id": 4, "at": utc(2019, 5, 18, 16, 9, 1), "state": "CA", "price": 41, "quantity": 162},
            {"_id": 5, "at": utc(2019, 1, 8, 6, 12, 3), "state": "WA", "price": 43, "quantity": 134},
        ])

        def values(output, sort=None, partition="$state"):
            stage = {"partitionBy": partition, "sortBy": sort or {"at": 1}, "output": {"v": output}}
            return [d.get("v") for d in c.aggregate([{"$setWindowFields": stage}, {"$sort": {"_id": 1}}])]

        cumulative = {"documents": ["unbounded", "current"]}
        check("window: cumulative", values({"$sum": "$quantity", "window": cumulative}), [282, 378, 427, 238, 162, 134])
        check("window: order of rows", [d["_id"] for d in c.aggregate([{"$setWindowFields": {
            "partitionBy": "$state", "sortBy": {"at": 1}, "output": {"v": {"$count": {}}}}}])], [4, 0, 2, 5, 3, 1])
        check("window: moving average by year", values(
            {"$avg": "$quantity", "window": {"documents": [-1, 0]}}, partition={"$year": "$at"}),
            [112.0, 142.5, 145.0, 104.0, 148.0, 134.0])
        check("window: range", values({"$sum": "$quantity", "window": {"range": [-10, 10]}}, sort={"price": 1}),
              [265, 244, 265, 244, 162, 134])
        check("window: range of months", values(
            {"$push": "$_id", "window": {"range": ["unbounded", 10], "unit": "month"}}),
            [[4, 0, 2], [5, 3, 1], [4, 0, 2], [5, 3], [4], [5]])
        check("window: range of past months", values(
            {"$push": "$_id", "window": {"range": ["unbounded", -10], "unit": "month"}}),
            [[4], [5, 3], [4], [5], [], []])
        check("window: rank", values({"$rank": {}}, sort={"quantity": -1}), [3, 1, 2, 3, 1, 2])
        check("window: documentNumber", values({"$documentNumber": {}}), [2, 3, 3, 2, 1, 1])
        check("window: shift", values(
            {"$shift": {"output": "$quantity", "by": 1, "default": "none"}}, sort={"quantity": -1}),
            ["none", 134, 120, "none", 145, 104])
        check("window: covariancePop", [round(v, 6) for v in values(
            {"$covariancePop": [{"$year": "$at"}, "$quantity"], "window": cumulative})],
            [-10.5, 2.0, -5.666667, -7.5, 0.0, 0.0])
        check("window: minN", values({"$minN": {"input": "$quantity", "n": 2}}),
              [[120, 145], [104, 134]] * 3)
        check("window: percentile", values({"$percentile": {"input": "$quantity", "p": [0.5], "method": "approximate"}}),
              [[145.0], [134.0]] * 3)
        check_error("window: unknown function", 9, lambda: values({"$summ": "$quantity"}))
        check_error("window: bounds", 5339900, lambda: values({"$sum": "$quantity", "window": {"documents": [1, 0]}}))
        check_error("window: rank with a window", 5371601, lambda: values({"$rank": {}, "window": cumulative}))
        check_error("window: no unit", 5429413, lambda: values({"$sum": "$quantity", "window": {"range": [0, 1]}}))

        stocks = db.stocks
        stocks.insert_many([
            {"_id": 1, "x": 13.0, "y": 500}, {"_id": 2, "x": 15.4}, {"_id": 3, "x": 12.0, "y": None},
            {"_id": 4, "x": 11.7, "y": 515},
        ])

        def by_id(output):
            rows = stocks.aggregate([{"$setWindowFields": {"sortBy": {"_id": 1}, "output": {"v": output}}}])
            return [d["v"] for d in rows]

        check("window: expMovingAvg", [round(v, 9) for v in by_id({"$expMovingAvg": {"input": "$x", "N": 3}})],
              [13.0, 14.2, 13.1, 12.4])
        check("window: linearFill", by_id({"$linearFill": "$y"}), [500, 505.0, 510.0, 515])
        check("window: locf", by_id({"$locf": "$y"}), [500, 500, 500, 515])

        trucks = db.trucks
        trucks.insert_many([
            {"_id": n, "at": utc(2020, 5, 18, 14, 10, 30 * n), "miles": miles}
            for n, miles in enumerate([1295.1, 1295.63])
        ])
        rows = list(trucks.aggregate([{"$setWindowFields": {"sortBy": {"at": 1}, "output": {"speed": {
            "$derivative": {"input": "$miles", "unit": "hour"}, "window": {"range": [-30, 0], "unit": "second"}}}}}]))
        check("window: derivative", [rows[0]["speed"], round(rows[1]["speed"], 6)], [None, 63.6])
        energy = {"$integral": {"input": "$miles", "unit": "hour"}, "window": {"range": ["unbounded", "current"], "unit": "hour"}}
        rows = list(trucks.aggregate([{"$setWindowFields": {"sortBy": {"at": 1}, "output": {"v": energy}}}]))
        check("window: integral", [round(d["v"], 9) for d in rows], [0.0, round((1295.1 + 1295.63) / 2 * 30 / 3600, 9)])

    def graphs(db):
        db.employees.insert_many([
            {"_id": 1, "name": "Dev"}, {"_id": 2, "name": "Eliot", "reportsTo": "Dev"},
            {"_id": 3, "name": "Ron", "reportsTo": "Eliot"}, {"_id": 4, "name": "Andrew", "reportsTo": "Eliot"},
            {"_id": 5, "name": "Asya", "reportsTo": "Ron"}, {"_id": 6, "name": "Dan", "reportsTo": "Andrew"},
        ])

        def reached(**options):
            stage = {"from": "employees", "startWith": "$reportsTo", "connectFromField": "reportsTo",
                     "connectToField": "name", "as": "chain", **options}
            rows = db.employees.aggregate([{"$graphLookup": stage}, {"$sort": {"_id": 1}}])
            return [sorted(d["name"] for d in row["chain"]) for row in rows]

        check("graphLookup", reached(), [
            [], ["Dev"], ["Dev", "Eliot"], ["Dev", "Eliot"], ["Dev", "Eliot", "Ron"], ["Andrew", "Dev", "Eliot"]])
        check("graphLookup: maxDepth", reached(maxDepth=0), [[], ["Dev"], ["Eliot"], ["Eliot"], ["Ron"], ["Andrew"]])
        check("graphLookup: restrictSearchWithMatch", reached(restrictSearchWithMatch={"name": {"$ne": "Eliot"}}),
              [[], ["Dev"], [], [], ["Ron"], ["Andrew"]])
        db.airports.insert_many([
            {"_id": 0, "airport": "JFK", "connects": ["BOS", "ORD"]}, {"_id": 1, "airport": "BOS", "connects": ["JFK", "PWM"]},
            {"_id": 2, "airport": "ORD", "connects": ["JFK"]}, {"_id": 3, "airport": "PWM", "connects": ["BOS", "LHR"]},
            {"_id": 4, "airport": "LHR", "connects": ["PWM"]},
        ])
        db.travelers.insert_one({"_id": 1, "nearest": "JFK"})
        row = next(db.travelers.aggregate([{"$graphLookup": {
            "from": "airports", "startWith": "$nearest", "connectFromField": "connects", "connectToField": "airport",
            "maxDepth": 2, "depthField": "hops", "as": "to"}}]))
        check("graphLookup: depths", {d["airport"]: d["hops"] for d in row["to"]},
              {"JFK": 0, "BOS": 1, "ORD": 1, "PWM": 2})
        check_error("graphLookup: missing options", 40105, lambda: list(db.employees.aggregate(
            [{"$graphLookup": {"from": "employees"}}])))

    def densification(db):
        db.weather.insert_many([
            {"_id": 1, "at": utc(2021, 5, 18, 0), "temp": 12}, {"_id": 2, "at": utc(2021, 5, 18, 4), "temp": 11},
            {"_id": 3, "at": utc(2021, 5, 18, 8), "temp": 11},
        ])
        rows = list(db.weather.aggregate([{"$densify": {"field": "at", "range": {
            "step": 1, "unit": "hour", "bounds": [utc(2021, 5, 18, 0), utc(2021, 5, 18, 8)]}}}]))
        check("densify: hours", [(d["at"].hour, d.get("temp")) for d in rows],
              [(0, 12), (1, None), (2, None), (3, None), (4, 11), (5, None), (6, None), (7, None), (8, 11)])
        db.coffee.insert_many([
            {"variety": "Arabica Typica", "altitude": a} for a in (600, 750, 950)
        ] + [{"variety": "Gesha", "altitude": a} for a in (1250, 1700)])

        def altitudes(bounds):
            rows = db.coffee.aggregate([{"$densify": {
                "field": "altitude", "partitionByFields": ["variety"], "range": {"bounds": bounds, "step": 200}}}])
            found = {}
            for row in rows:
                found.setdefault(row["variety"], []).append(row["altitude"])
            return {variety: sorted(all_) for variety, all_ in found.items()}

        check("densify: full", altitudes("full"), {
            "Arabica Typica": [600, 750, 800, 950, 1000, 1200, 1400, 1600],
            "Gesha": [600, 800, 1000, 1200, 1250, 1400, 1600, 1700]})
        check("densify: partition", altitudes("partition"), {
            "Arabica Typica": [600, 750, 800, 950], "Gesha": [1250, 1450, 1650, 1700]})
        check_error("densify: step", 5733401, lambda: list(db.coffee.aggregate(
            [{"$densify": {"field": "altitude", "range": {"bounds": "full", "step": 0}}}])))
        db.things.insert_many([{"_id": n} for n in range(100)])
        rows = db.things.aggregate([{"$bucketAuto": {"groupBy": "$_id", "buckets": 5, "granularity": "R20"}}])
        check("bucketAuto: granularity", [(d["_id"]["min"], d["_id"]["max"], d["count"]) for d in rows],
              [(0, 20, 20), (20, 40, 20), (40, 63, 23), (63, 90, 27), (90, 100, 10)])

    def geometry(db):
        c = db.places
        c.create_index([("location", "2dsphere")])

        def point(*position):
            return {"type": "Point", "coordinates": list(position)}

        c.insert_many([
            {"name": "Central Park", "location": point(-73.97, 40.77), "category": "Parks"},
            {"name": "Sara D. Roosevelt Park", "location": point(-73.9928, 40.7193), "category": "Parks"},
            {"name": "Polo Grounds", "location": point(-73.9375, 40.8303), "category": "Stadiums"},
        ])
        near = {"near": point(-73.99279, 40.719296), "distanceField": "dist.calculated", "maxDistance": 2,
                "query": {"category": "Parks"}, "includeLocs": "dist.location", "spherical": True}
        rows = list(c.aggregate([{"$geoNear": near}]))
        check("geoNear", [(d["name"], round(d["dist"]["calculated"], 6), d["dist"]["location"]) for d in rows],
              [("Sara D. Roosevelt Park", 0.953993, point(-73.9928, 40.7193))])

        def names(query):
            return [d["name"] for d in c.find({"location": query})]

        check("near", names({"$near": {"$geometry": point(-73.9667, 40.78), "$minDistance": 1000, "$maxDistance": 8000}}),
              ["Central Park", "Polo Grounds", "Sara D. Roosevelt Park"])
        check("nearSphere in radians", names({"$nearSphere": [-73.9667, 40.78], "$maxDistance": 1200 / 6378100}),
              ["Central Park"])
        box = {"type": "Polygon", "coordinates": [[[-74, 40.7], [-73.96, 40.7], [-73.96, 40.8], [-74, 40.8], [-74, 40.7]]]}
        check("geoWithin", sorted(names({"$geoWithin": {"$geometry": box}})), ["Central Park", "Sara D. Roosevelt Park"])
        check("geoIntersects", names({"$geoIntersects": {"$geometry": point(-73.97, 40.77)}}), ["Central Park"])
        check("centerSphere", sorted(names({"$geoWithin": {"$centerSphere": [[-73.97, 40.77], 5 / 3963.2]}})),
              ["Central Park", "Polo Grounds", "Sara D. Roosevelt Park"])
        check("count within", c.count_documents({"location": {"$geoWithin": {"$box": [[-74, 40.7], [-73.95, 40.8]]}}}), 2)
        check_error("near in $match", 5626500, lambda: c.count_documents({"location": {"$near": {"$geometry": point(0, 0)}}}))
        check_error("an invalid location", 16755, lambda: c.insert_one({"location": point(200, 0)}))
        check_error("near without an index", 291, lambda: list(db.other.find({"a": {"$near": [0, 0]}}))
                    if db.other.insert_one({"a": [0, 0]}) else None)

    def text(db):
        c = db.articles
        c.create_index([("subject", "text")])
        subjects = ["coffee", "Coffee Shopping", "Baking a cake", "baking", "Café Con Leche", "Сырники",
                    "coffee and cream", "Cafe con Leche"]
        c.insert_many([{"_id": n, "subject": subject} for n, subject in enumerate(subjects, 1)])

        def ids(search, **options):
            return [d["_id"] for d in c.find({"$text": {"$search": search, **options}}).sort("_id", 1)]

        check("text: a word", ids("coffee"), [1, 2, 7])
        check("text: any word", ids("bake coffee cake"), [1, 2, 3, 4, 7])
        check("text: a phrase", ids('"coffee shop"'), [2])
        check("text: negation", ids("coffee -shop"), [1, 7])
        check("text: diacritics", ids("сы́рники CAFÉS"), [5, 6, 8])
        check("text: case", ids("Coffee", **{"$caseSensitive": True}), [2])
        check("text: diacritic sensitive", ids("CAFÉ", **{"$diacriticSensitive": True}), [5])
        score = {"$meta": "textScore"}
        scored = c.find({"$text": {"$search": "coffee"}}, {"score": score}).sort([("score", score), ("_id", 1)])
        check("text: scores", [(d["_id"], d["score"]) for d in scored], [(1, 1.0), (2, 0.75), (7, 0.75)])
        grouped = c.aggregate([{"$match": {"$text": {"$search": "cake"}}}, {"$group": {"_id": None, "s": {"$sum": score}}}])
        check("text: scores in a group", [d["s"] for d in grouped], [0.75])
        check_error("text: no index", 27, lambda: list(db.things.find({"$text": {"$search": "x"}})))
        check_error("text: not first", 17313, lambda: list(c.aggregate(
            [{"$limit": 1}, {"$match": {"$text": {"$search": "x"}}}])))

    def expressions(db):
        db.one.insert_one({"_id": 1, "at": utc(2021, 3, 20, 11, 30, 5), "birthday": utc(1998, 11, 7)})

        def value(expression):
            return next(db.one.aggregate([{"$project": {"v": expression}}])).get("v")

        check("dateTrunc", value({"$dateTrunc": {"date": "$at", "unit": "hour", "binSize": 2}}), utc(2021, 3, 20, 10))
        check("dateTrunc in a zone", value({"$dateTrunc": {
            "date": "$at", "unit": "week", "startOfWeek": "Monday", "timezone": "America/Los_Angeles"}}), utc(2021, 3, 15, 7))
        check("dateDiff", value({"$dateDiff": {"startDate": utc(2010, 12, 31), "endDate": utc(2011, 1, 1), "unit": "year"}}), 1)
        check("dateAdd", value({"$dateAdd": {"startDate": utc(2020, 10, 31), "unit": "month", "amount": 1}}), utc(2020, 11, 30))
        check("dateSubtract", value({"$dateSubtract": {"startDate": utc(2021, 3, 31), "unit": "month", "amount": 1}}), utc(2021, 2, 28))
        check("dateToString", value({"$dateToString": {"date": "$at", "format": "%G-W%V-%u %j %z", "timezone": "+02:00"}}),
              "2021-W11-6 079 +0200")
        check("log", value({"$log": [100, 10]}), 2.0)
        check("atan2", value({"$atan2": [4, 3]}), math.atan2(4, 3))
        check("bitXor", value({"$bitXor": [10, 7]}), 13)
        check("median", value({"$median": {"input": [1, 2, 3, 4], "method": "approximate"}}), 2.0)
        check("redact", list(db.one.aggregate([{"$redact": {"$cond": [{"$eq": ["$_id", 1]}, "$$PRUNE", "$$KEEP"]}}])), [])

    return [windows, graphs, densification, geometry, text, expressions]


def search(check, check_error, db):
    """Checks search indexes, if the server supports them (`--search`)."""
    c = db.movies
    c.insert_many([
        {"_id": 1, "title": "The Big Short", "year": 2015, "v": [1.0, 0.0]},
        {"_id": 2, "title": "Big Fish", "year": 2003, "v": [0.6, 0.8]},
    ])
    model = pymongo.operations.SearchIndexModel({"mappings": {"dynamic": True}}, name="s")
    try:
        c.create_search_index(model)
    except pymongo.errors.OperationFailure as error:
        check("search is not enabled", error.code, 31082)
        return
    vectors = pymongo.operations.SearchIndexModel({"fields": [
        {"type": "vector", "path": "v", "numDimensions": 2, "similarity": "dotProduct"}]}, name="v", type="vectorSearch")
    check("create_search_index", c.create_search_index(vectors), "v")
    for name in ("s", "v"):
        while not next(c.list_search_indexes(name))["queryable"]:
            pass
    rows = list(c.aggregate([{"$search": SON([("index", "s"), ("compound", {
        "must": [{"text": {"query": "big", "path": "title"}}], "filter": [{"range": {"path": "year", "gt": 2010}}]})])}]))
    check("$search", [d["_id"] for d in rows], [1])
    rows = list(c.aggregate([
        {"$vectorSearch": {"index": "v", "path": "v", "queryVector": [1, 0], "numCandidates": 5, "limit": 5}},
        {"$project": {"score": {"$meta": "vectorSearchScore"}}}]))
    check("$vectorSearch", [(d["_id"], d["score"]) for d in rows], [(1, 1.0), (2, 0.8)])
    c.update_search_index("s", {"mappings": {"dynamic": False}})
    c.drop_search_index("s")
    check("drop_search_index", [d["name"] for d in c.list_search_indexes()], ["v"])
