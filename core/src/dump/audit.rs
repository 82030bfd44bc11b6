//! Which test holds which row of the ge-dump spec. Names are those of tests below `core/src/dump`, of
//! `tests/tests` and of `native/tests`; that each is there is itself a test (`tests/tests/dump.rs`). A row
//! without a test says why it needs none.
//!
//! | spec | held by |
//! | --- | --- |
//! | §1.1 top level | `top_level`, `p1_unknown_keys_are_told_once_each` |
//! | §1.1.1 type | `row_type_any_field_of_the_wrong_type` |
//! | §1.1.1 value | `row_value_enum_fields` |
//! | §1.1.1 order | `types_are_looked_at_before_values_and_values_before_constraints`, `list_rows_run_item_by_item` |
//! | §1.1.1 scene | `row_scene` |
//! | §1.1.1 path | `row_path`, `addresses_are_not_looked_up_on_the_disk`, `length_and_state` |
//! | §1.1.1 debug | `row_debug` |
//! | §1.1.1 step | `row_step`, `every_row_of_the_step_table` |
//! | §1.1.1 list | `t8_row_list_present_but_empty`, `row_list_watcher`, `row_list_blacklist`, `row_list_range` |
//! | §1.1.1 stats | `row_stats` |
//! | §1.1.1 needed | `p3_p38_documents_that_enable_nothing` |
//! | §1.1.2 | `every_row_of_what_a_document_becomes`, `kinds_exclude_each_other_in_one_document`, `p38_inert_replaces_set_by_unset_and_off_by_off` |
//! | §1.1.3 | `every_call_in_every_phase`, `bad_arguments`, `a_refused_document_changes_nothing`, `exception_dump_enabled_twice_is_told_and_the_second_ignored`, `pieces_for_a_callback_are_marked` |
//! | §1.2 | `p5_blank_variables_are_not_set`, `exception_levels_and_roots`, `acl_data_with_npu_collect_path_is_refused` |
//! | §1.3 | `options_are_checked`, `p7_the_more_specific_scope_wins` |
//! | §1.4 | `every_default` |
//! | §1.5 | `every_row_of_the_step_table`, `an_earlier_row_wins_over_an_earlier_segment`, `neighbours_merge` |
//! | §2.3 | `enable_conflicts`, `shadowed_values_are_checked_as_warnings`, `environment_is_read_again_only_when_asked` |
//! | §2.4 1–7 | `example_1_nothing`, `example_2_options_alone`, `example_3_path_conflict_the_rest_from_options`, `example_4_only_the_mode_conflicts`, `example_5_mode_from_env_path_from_option`, `example_6_mode_without_path`, `example_7_acl_hides_all` |
//! | §2.4 8–14 | `example_8_an_inert_document_does_not_count`, `example_9_off_is_off`, `example_10_after_finalize_the_environment_counts`, `example_11_equal_sets_are_no_conflict`, `example_12_overflow_only`, `example_13_data_and_overflow_through_options`, `example_14_a_second_document_replaces` |
//! | §2.5 | `t5_one_directory_from_on_to_off`, `t22_removing_a_session_keeps_acl` |
//! | §3.1 | `layer_need_row_by_row`, `any_and_named_lists_are_united_and_upstream_is_a_fault`, `any_original_name_is_enough`, `original_names_select` |
//! | §3.2 | `what_counts_as_on_and_which_models_need_dump`, `watcher_predicates`, `one_model_twice_is_a_union` |
//! | §3.3 | `every_way_to_be_on_a_blacklist`, `blacklists_leave_workspaces_and_overflows_record_alone`, `lists_merge_by_union`, `an_exception_has_everything_whatever_mode_and_blacklist_say` |
//! | §3.4, 12 cells | `every_cell_of_the_table`, `numbers_out_of_the_table_are_errors`, `walks`, `t19_one_op_as_begin_and_end`, `begin_after_end_is_an_error_that_keeps_what_it_had` |
//! | §3.4 notes | `ranges_select_by_launch_order`, `sources_contexts_and_nested_ops_take_no_part_in_ranges`, `layers_join_ranges_and_the_om_names_ranges_come_first`, `with_ranges_an_empty_set_is_not_all` |
//! | §4.1 | `t4_sources_are_dumped_with_their_consumers`, `the_watcher_dumps_nodes_again_after_layers`, `unknown_layers_are_told_with_the_nearest_name` |
//! | §4.2 | `every_row_of_what_a_task_contains` |
//! | §4.3 | `references_redirect_the_address_and_bad_ones_are_skipped`, `references_are_read_from_the_right`, `what_an_output_was_before_fusion_stands_in_its_record` |
//! | §4.4 | `l1_tensors_become_a_buffer_in_static_and_are_skipped_in_dynamic_programs`, `p34_optional_empty_outputs_are_skipped_required_ones_recorded`, `sizes_by_attribute_shape_or_room`; lists of unequal length cannot be: a tensor has its own memory and address |
//! | §4.5 | `every_field_of_a_request_has_its_number`, `t24_an_unload_names_everything_that_was_loaded` |
//! | §4.6 | `loads_and_unloads_alternate_and_filters_are_evaluated_anew`, `kernel_refuses_what_does_not_alternate`; task ids have 32 bits everywhere |
//! | §5.2 | `p17_exception_beside_data` |
//! | §5.3 | `life_cycle`, `p18_a_start_in_a_running_iteration_ends_it_first`, `exceptions_do_not_wait_for_the_step_filter_or_the_end` |
//! | §5.4 | `worked_examples`, `control_flow_ends_at_its_own_thunk_and_unknown_kinds_never`, `replaced_thunks_count_by_what_took_their_place`, `p19_a_constant_folded_op_is_dumped_once`, `generations_wrap_without_stale_counts` |
//! | §5.5 | `what_cannot_be_had_is_skipped_with_its_reason`, `addresses_that_move_are_taken_at_the_time_of_the_dump`; host memory is read like any other |
//! | §5.6 | `a_collective_is_dumped_before_and_after`, `a_static_collective_with_a_reference_is_dumped_once_at_the_others_address`, `blacklists_and_ranges_apply_to_collectives_as_to_any_op`, `each_rank_dumps_for_itself_and_computes_the_same` |
//! | §5.7 | `contexts_have_files_of_their_own`, `t29_two_contexts_of_one_thread_are_refused` |
//! | §5.8 | `every_status_after_a_launch`, `no_overflow_no_files` |
//! | §5.9 | `contexts_match_by_their_own_numbers`, `an_exception_records_unreadable_memory_as_nothing` |
//! | §5.10 | `steps_gate_whole_iterations_and_the_summary_says_so`, `p22_a_failed_iteration_counts_like_any_other` |
//! | §5.11 | `threads_make_an_op_due_exactly_once_a_round`, `nothing_is_allocated_between_start_and_end`, `one_wait_at_the_end_of_an_iteration_that_dumped`, `a_small_staging_area_drops_whole_records_and_counts_them`, `synchronous_and_asynchronous_runs_write_the_same_files` |
//! | §5.13 | `the_watcher_watches_in_static_programs_only`, `l1_host_missing_and_sources`, and the rows above; op debug is part of every program here |
//! | §5.14 | `the_worked_timeline` |
//! | §6 | `records_carry_the_name_that_was_configured`, `lanes_have_room_for_the_largest_op`, `every_row_of_what_a_task_contains` |
//! | §7 | `the_newest_match_is_found_and_the_oldest_is_overwritten`, `levels_of_an_exception_differ_in_attributes_and_names`, `an_exception_is_remembered_without_allocating` |
//! | §8 | `every_row_of_the_transition_table`, `handlers_are_called_at_once_and_at_every_change`, `who_registers_after_dump_went_on_is_told_at_once`, `a_switch_takes_effect_at_the_next_iteration`, `a_changed_filter_reloads_static_submodels_of_a_dynamic_program` |
//! | §9.1 | `seed_names`, `the_manifest_has_everything_that_a_name_cannot_say`, `a_while_body_is_dumped_once_per_trip_and_an_untaken_branch_never` |
//! | §9.2 | `the_cann_layout`, `cann_names_and_directories`, `names_that_are_too_long_are_hashed_and_told_apart`, `long_names_are_hashed_and_mapped` |
//! | §9.3 | `every_field_of_a_files_header_has_its_number`, `cut_files_are_refused_at_every_length`, `every_type_reads_back_by_number_and_name`, `formats_have_a_primary_and_a_sub_format`; read back by a reader of its own in `scenario/tests/reader.rs` |
//! | §9.4 | `the_default_columns_are_the_devices_own_form`, `other_columns_put_the_count_first_and_keep_their_places`, `p31_what_is_no_number_is_left_out_unless_nothing_else_is_there`, `six_significant_digits`, `wholes_are_exact`, `statistics_instead_of_tensors` |
//! | §9.5 | `overflow_record_reads_as_its_table_says`, `a_record_reads_back_and_names_its_unit` |
//! | §10 | `every_call_is_logged_with_the_keyword`, `the_page_lists_every_reason_key_and_value`, `every_lost_tensor_is_counted_with_its_cause_and_the_log_says_what_to_do` |
//! | §11.1 matrix | `the_matrix`, `the_matrix_on_threads`, `static_and_dynamic_runs_write_the_same_tensors` |
//! | §11.1 disks | `a_file_where_a_directory_should_be`, `files_that_would_be_too_large`, `a_directory_that_vanishes_while_the_model_runs`, `a_full_disk_is_called_full` |
//! | T1, T3 | `t3_om_name_is_preferred_and_t1_root_graph_matches` |
//! | T2 | `t2_collectives_in_static_submodels_match_by_root_graph` |
//! | T4 | `t4_sources_are_dumped_with_their_consumers` |
//! | T5, T22 | `t5_one_directory_from_on_to_off`, `t22_removing_a_session_keeps_acl` |
//! | T6 | a query gives an `Option`: there is no null path |
//! | T7 | `t7_sessions_have_their_own_options_and_unknown_ones_dump_nothing` |
//! | T8 | `t8_row_list_present_but_empty` |
//! | T9 | `l1_host_missing_and_sources` |
//! | T10 | `files_are_whole_and_never_overwritten`; the end of a run drains |
//! | T11 | `t11_env_redirects_exceptions_only` |
//! | T12 | `t12_half_precision_with_infinities` |
//! | T13, T18 | `t18_t13_lanes_do_not_grow`; room is owned by lanes |
//! | T14 | a dump never waits for its sink on a lane |
//! | T15 | a handler does not have the registry, so it cannot call back into it |
//! | T16 | `a_small_staging_area_drops_whole_records_and_counts_them` |
//! | T17 | nothing is cleared or copied by hand: a resolve starts from defaults, copies are derived |
//! | T19 | `t19_one_op_as_begin_and_end`, `worked_examples` (two launches of one op) |
//! | T20 | `positions`, `references_are_read_from_the_right` |
//! | T21 | `t21_numbers_of_dump_files_are_not_those_of_ge` |
//! | T23 | sizes and offsets are 64 bits from end to end; `sizes_by_attribute_shape_or_room` |
//! | T24 | `t24_an_unload_names_everything_that_was_loaded` |
//! | T25 | `t25_paths_are_joined_with_one_slash` |
//! | T26 | slots are reached by `get` |
//! | T27 | `t27_kinds_do_not_overwrite_each_other` |
//! | T28 | `t28_counts_of_a_failed_iteration_do_not_leak` |
//! | T29 | `t29_two_contexts_of_one_thread_are_refused` |
//! | law 1 | `resolve_is_pure_and_names_the_highest_setter` |
//! | law 2 | `a_set_acl_layer_hides_the_rest` |
//! | law 3 | `any_interleaving_makes_each_unit_due_at_its_last_thunk` |
//! | law 4 | `law_4_written_is_selected_in_step_and_not_blacklisted` |
//! | law 5 | `law_5_a_switch_counts_from_the_next_iteration_on` |
//! | law 6 | `law_6_loads_and_unloads_alternate` |
//! | law 7 | `law_7_manifest_and_mapping_restore_every_name`, `any_names_are_short_and_without_what_steers` |
//! | law 8 | `law_8_a_dump_changes_nothing_of_a_run` |
//! | law 9 | `matches_like_a_list_of_intervals` |
//! | law 10 | `every_cell_of_the_table`, `sparse_ranges_are_the_fsm_walked_over_all_ops` |
//! | law 11 | `law_11_one_meaning_through_every_entry` |
