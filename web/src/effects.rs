//! What the page does after it was drawn: things that elements cannot be told by their attributes.

use js_sys::Reflect;
use wasm_bindgen::JsCast;
use web_sys::{Document, Element, HtmlCanvasElement, HtmlDialogElement, HtmlElement};

use crate::command::{Dialog, Mode};
use crate::frame::Frame;
use crate::model::{Fixed, Scene};
use crate::page;
use crate::paint;
use crate::search::Search;
use crate::state::{Place, Reading};
use crate::view::{self, Shows};

/// What was done last: nothing is done twice.
#[derive(Default)]
pub(crate) struct Effects {
    mode: Option<Mode>,
    dialog: Option<Dialog>,
    /// Query and chosen line of the palette.
    line: (String, usize),
    /// Where the log was scrolled to.
    logged: Option<(Fixed<Scene>, usize, Mode)>,
    painted: Option<(Fixed<Scene>, Place)>,
}

impl Effects {
    /// What is painted has to be painted again.
    pub(crate) fn repaint(&mut self) {
        self.painted = None;
    }

    /// The log shows where the clock is.
    pub(crate) fn unfolded(&mut self) {
        self.logged = None;
    }

    pub(crate) fn after(&mut self, reading: &Reading, frame: &Frame, search: &Search, log: Shows) {
        let Some(document) = page::document() else { return };
        let Reading { scene, place } = reading;
        if self.mode != Some(place.mode) {
            self.mode = Some(place.mode);
            page::arrange(place.mode);
        }
        choose(&document);
        if self.dialog != place.dialog {
            self.dialog = place.dialog;
            show(&document, place.dialog);
        }
        if place.dialog == Some(Dialog::Palette)
            && (&self.line.0, self.line.1) != (&search.query, search.place)
        {
            self.line = (search.query.clone(), search.place);
            reveal(&document, &view::line_id(search.place));
        }
        let painted = (scene.clone(), Place { dialog: None, playing: false, ..place.clone() });
        if self.painted.as_ref() != Some(&painted) {
            self.painted = Some(painted);
            paint_all(&document, reading, frame);
        }
        // Last, because it asks how high something is, and the browser has to lay everything out to say.
        let logged = (scene.clone(), place.position, place.mode);
        if log.open && self.logged.as_ref() != Some(&logged) {
            self.logged = Some(logged);
            view::scroll_log(place.position);
        }
    }
}

/// Every list shows what is chosen, whatever the reader picked last, and every number and text what it is,
/// unless it is being typed.
fn choose(document: &Document) {
    let typed_in = document.active_element();
    let Ok(controls) = document.query_selector_all("[data-value]") else { return };
    for index in 0..controls.length() {
        let Some(control) = controls.get(index).and_then(|control| control.dyn_into::<Element>().ok()) else {
            continue;
        };
        let Some(value) = control.get_attribute("data-value") else { continue };
        // A slider is held while the pointer is down, everything else while it has the focus.
        let held = typed_in.as_ref() == Some(&control);
        let slider = control.get_attribute("type").as_deref() == Some("range");
        let typed = match control.tag_name().as_str() {
            "SELECT" => false,
            _ if slider => control.matches(":active").unwrap_or(false),
            _ => held,
        };
        let now = Reflect::get(&control, &"value".into()).ok().and_then(|now| now.as_string());
        if !typed && now.as_deref() != Some(&*value) {
            // A control takes any text; what is no value of it leaves it empty.
            let _ = Reflect::set(&control, &"value".into(), &value.into());
        }
    }
}

/// The browser's own dialogue: it keeps the focus inside, closes on Escape and gives the focus back.
fn show(document: &Document, open: Option<Dialog>) {
    for (id, which) in [("keys", Dialog::Keys), ("palette", Dialog::Palette)] {
        let dialog = document.get_element_by_id(id);
        let Some(dialog) = dialog.and_then(|dialog| dialog.dyn_into::<HtmlDialogElement>().ok()) else {
            continue;
        };
        if open == Some(which) && !dialog.open() {
            let _ = dialog.show_modal();
        } else if open != Some(which) && dialog.open() {
            dialog.close();
        }
    }
    if open == Some(Dialog::Palette) {
        let input = document.get_element_by_id("palette-input");
        if let Some(input) = input.and_then(|input| input.dyn_into::<HtmlElement>().ok()) {
            let _ = input.focus();
        }
    }
}

/// The line comes into view.
fn reveal(document: &Document, id: &str) {
    if let Some(line) = document.get_element_by_id(id) {
        let options = web_sys::ScrollIntoViewOptions::new();
        options.set_block(web_sys::ScrollLogicalPosition::Nearest);
        line.scroll_into_view_with_scroll_into_view_options(&options);
    }
}

/// The graphs that are no elements.
fn paint_all(document: &Document, reading: &Reading, frame: &Frame) {
    let Reading { scene, place } = reading;
    for column in &frame.queues {
        let canvas = document.get_element_by_id(&view::graph_id(column.queue));
        if let Some(canvas) = canvas.and_then(|canvas: Element| canvas.dyn_into::<HtmlCanvasElement>().ok()) {
            paint::graph(
                &canvas,
                &scene.0.model.exhibit,
                column,
                place.selected,
                place.zoom.unwrap_or(scene.0.picture()),
            );
        }
    }
}
