//! The one story that every store must be able to tell, whatever it keeps its rows in.
//!
//! `open` starts a process on the same world each time it is called; dropping the store ends
//! that process. The chapters build on each other's world but not on each other's threads.

mod credits;
mod elsewhere;
mod leases;
mod lists;
mod log;
mod orders;
mod pasts;
mod props;
mod records;
mod search;
mod turns;

use crate::SharedStore;

pub use props::{a_batch, a_thread, a_turn, an_entry, an_event, ended};
pub use search::{found, index_all};

/// Panics where the store does not behave.
pub async fn tell(open: impl Fn() -> SharedStore) {
    log::a_thread_is_kept_from_its_first_batch(&open()).await;
    log::a_log_is_read_in_pages(&open()).await;
    log::entries_are_found_by_place_and_by_message(&open()).await;
    log::a_batch_that_is_refused_changes_nothing(&open()).await;
    log::receipts_answer_a_repeated_request(&open()).await;
    log::receipts_are_read_in_pages(&open()).await;
    log::drafts_grow_until_their_item_is_done(&open()).await;
    log::a_deleted_thread_leaves_nothing(&open()).await;

    turns::a_turn_is_indexed_from_its_start_to_its_end(&open).await;
    turns::turns_are_paged_both_ways_from_the_last_reset(&open()).await;

    pasts::turns_are_taken_back_and_their_places_given_again(&open()).await;
    pasts::a_thread_begins_with_the_past_of_another(&open).await;

    lists::threads_are_listed_newest_first(&open()).await;
    lists::pages_stay_in_place_while_threads_come(&open()).await;
    lists::what_is_left_out_takes_no_room_in_a_page(&open()).await;
    orders::threads_are_listed_by_any_time_both_ways(&open()).await;
    orders::threads_are_left_out_before_a_page_is_cut(&open()).await;
    orders::words_are_found_as_they_are(&open()).await;
    lists::a_client_id_names_one_thread_of_its_tenant(&open()).await;
    lists::settings_and_counters_outlive_the_process(&open).await;

    search::what_was_said_is_found_by_its_words(&open()).await;
    search::a_tenant_finds_only_its_own(&open()).await;
    search::what_is_hidden_or_deleted_is_not_found(&open).await;
    search::a_text_replaces_the_one_of_its_place(&open()).await;
    search::many_matches_come_window_by_window(&open()).await;

    records::records_are_written_in_batches(&open).await;
    records::a_batch_from_an_older_picture_is_refused(&open).await;
    records::records_are_written_with_a_thread_or_not_at_all(&open()).await;
    records::concurrent_writers_lose_nothing(&open).await;

    credits::who_has_no_balance_has_no_limit(&open()).await;
    credits::what_is_spent_is_written_with_its_events(&open).await;
    credits::turns_reserve_of_one_balance_in_all_processes(&open).await;

    leases::a_thread_is_awake_in_one_process_only(&open).await;
    leases::an_older_lease_can_no_longer_write(&open).await;
    leases::everything_is_there_after_a_restart(&open).await;
    elsewhere::what_changes_in_one_process_is_told_in_the_others(&open).await;

    leases::unfinished_threads_are_found_when_nobody_has_them(&open).await;
}
