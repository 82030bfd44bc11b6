//! The page's keys.

use wasm_bindgen::JsCast;
use web_sys::{Element, EventTarget, KeyboardEvent};

use crate::command::{Command, Dialog};
use crate::listen::Listener;
use crate::message::Msg;
use crate::view::Say;

/// Says the command of every key that no element needs for itself.
pub(crate) fn listen(say: Say) -> Option<Listener> {
    Listener::new("keydown", move |event| {
        let Some(event) = event.dyn_ref::<KeyboardEvent>() else { return };
        if event.default_prevented() || event.alt_key() {
            return;
        }
        let command = if event.ctrl_key() || event.meta_key() {
            matches!(event.key().as_str(), "k" | "K").then_some(Command::Open(Dialog::Palette))
        } else {
            Command::of_key(&event.key(), event.shift_key()).filter(|&command| !kept(event.target(), command))
        };
        if let Some(command) = command {
            event.prevent_default();
            say.emit(Msg::Command(command));
        }
    })
}

/// Whether an element needs this key itself: a list its letters and arrows, a button the space
/// bar, an open dialogue everything but the key that closes it.
fn kept(target: Option<EventTarget>, command: Command) -> bool {
    let Some(target) = target.and_then(|target| target.dyn_into::<Element>().ok()) else { return false };
    let kind = target.get_attribute("type");
    let range = kind.as_deref() == Some("range");
    match target.tag_name().as_str() {
        "SELECT" | "TEXTAREA" => return true,
        "INPUT" if matches!(kind.as_deref(), Some("radio" | "checkbox")) => {
            let moves = matches!(command, Command::Toggle | Command::Forward | Command::Back);
            return moves;
        }
        "INPUT" if !range => return true,
        "BUTTON" | "SUMMARY" | "A" if command == Command::Toggle => return true,
        _ => {}
    }
    // A list that scrolls needs its own arrows up and down only, which are no commands.
    let dialog = target.closest("dialog").ok().flatten();
    dialog.is_some() && command != Command::Open(Dialog::Keys)
}
