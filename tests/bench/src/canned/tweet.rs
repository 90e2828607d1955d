//! A nested document with many types of values, about 1.5 kB, similar to a tweet.

use bson::{Bson, Document, doc};
use marula_bench_shared::contract::id;

/// The tweet with this number.
pub(super) fn tweet(number: u32) -> Document {
    let n = i64::from(number);
    let small = i32::try_from(number % 1_000).unwrap_or(0);
    doc! {
        "_id": id(number),
        "text": format!("@gatherer{number} the marulas at the river are ripe, come early tomorrow and bring a basket"),
        "in_reply_to_status_id": 22_700_000_000_i64 + n,
        "retweet_count": Bson::Null,
        "contributors": Bson::Null,
        "created_at": "Thu Feb 05 06:38:18 +0000 2026",
        "geo": Bson::Null,
        "source": "web",
        "coordinates": Bson::Null,
        "in_reply_to_screen_name": format!("gatherer{number}"),
        "truncated": false,
        "entities": {
            "user_mentions": [{
                "indices": [0, 9],
                "screen_name": format!("gatherer{number}"),
                "name": "Nomsa of the Riverbank",
                "id": 41_000_000 + small,
            }],
            "urls": [],
            "hashtags": [],
        },
        "retweeted": false,
        "place": Bson::Null,
        "user": user(number, small),
        "favorited": false,
        "in_reply_to_user_id": 41_832_464,
        "id": 22_800_000_000_i64 + n,
    }
}

fn user(number: u32, small: i32) -> Document {
    doc! {
        "friends_count": 179 + small,
        "profile_sidebar_fill_color": "7a9a5a",
        "location": "Limpopo, between two rivers",
        "verified": false,
        "follow_request_sent": Bson::Null,
        "favourites_count": 0,
        "profile_sidebar_border_color": "a3c3a3",
        "profile_image_url": "http://images.example/profile_images/1110614677/marula_tree_in_the_evening_normal.png",
        "geo_enabled": false,
        "created_at": "Sun Aug 17 00:23:13 +0000 2008",
        "description": "cooks, walks, counts trees; writes about fruit, music, rivers and the people who live there!",
        "time_zone": "Pretoria",
        "url": "http://riverbank.example/",
        "screen_name": format!("riverbank{number}"),
        "notifications": Bson::Null,
        "profile_background_color": "303030",
        "listed_count": 1,
        "lang": "en",
        "profile_background_image_url": "http://images.example/profile_background_images/133733613/savanna_4.png",
        "statuses_count": 1_010 + small,
        "following": Bson::Null,
        "profile_text_color": "d9c980",
        "protected": false,
        "show_all_inline_media": false,
        "profile_background_tile": true,
        "name": "Tshepo of the Trees",
        "contributors_enabled": false,
        "profile_link_color": "363636",
        "followers_count": 218 + small,
        "id": 15_000_000 + small,
        "profile_use_background_image": true,
        "utc_offset": 7_200,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_tweet_has_the_size_that_the_tables_say() {
        let size = crate::encode::document(&super::tweet(9_999)).len();
        assert!((1_400..1_700).contains(&size), "{size}");
    }
}
